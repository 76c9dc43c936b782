# SPDX-License-Identifier: GPL-2.0
# Shows what the plugin's count= wrote, an interval a line of key-value pairs, as a table:
# instructions in user space, in the kernel, and of these with tracing off; then accesses of MSRs by number.
BEGIN {
	print "label  cpu          user        kernel   kernel, off  accesses of MSRs"
}
{
	split("", value)
	msrs = ""
	for (i = 1; i < NF; i += 2) {
		value[$i] = $(i + 1)
		if ($i ~ /^(rd|wr)msr_/ && $(i + 1) > 0)
			msrs = msrs "  " $i " " $(i + 1)
	}
	printf "%5s %4s %13s %13s %13s%s%s\n", value["label"], value["cpu"], value["user"], value["kernel"], value["off"], msrs,
		value["open"] ? "  (not ended)" : ""
}
