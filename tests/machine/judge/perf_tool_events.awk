# SPDX-License-Identifier: GPL-2.0
# Holds perf's PTWRITE, control-flow and power events against what the program says that it did:
#
#	awk -f perf_tool_events.awk SAYS EVENTS
#
# SAYS is perf_tool_load's stdout, EVENTS of
#	perf script --itrace=pwI --ns -F tid,time,event,ip,synth
# Of the control-flow events, exceptions count, and of the page faults those at an address that the program names.
# A stop is a power entry, an execution stop and a power exit, in this order; the program sleeps ten times.

FNR == NR && /^(filter|stop) / {
	next
}
FNR == NR && ($2 == "-" || $1 == 14) {
	fault[faults++] = $1 " " $2
	if ($1 == 14)
		named[$2] = 1
	next
}
FNR == NR {
	ptwrite[ptwrites++] = $1 " " $2
	next
}

# value(NAME): what stands behind NAME.
function value(name)
{
	if (!match($0, name " *(0x)?[0-9a-f]+"))
		return "-"
	return substr($0, RSTART + length(name), RLENGTH - length(name))
}

function clean(text)
{
	gsub(/ |0x/, "", text)
	return text
}

function must_be(what, got, want)
{
	if (got != want) {
		print what " is " got ", not " want
		wrong = 1
	}
}

/ evt: *cfe: INTR/ {
	vector = clean(value("vector:")) + 0
	address = clean(value("PFA:"))
	if (vector < 32 && (vector != 14 || address in named))
		must_be("exception " seen_faults + 1, vector " " address, fault[seen_faults++])
}
/ ptwrite: / {
	must_be("PTWRITE " seen_ptwrites + 1, $NF " " clean(value("payload:")), ptwrite[seen_ptwrites++])
}
/ (pwre|exstop|pwrx): / {
	name = $3
	must_be("the power event after " (last ? last : "none"), name,
		last == "pwre:" ? "exstop:" : last == "exstop:" ? "pwrx:" : "pwre:")
	last = name
	stops += name == "pwrx:"
}

END {
	must_be("the number of exceptions", seen_faults + 0, faults)
	must_be("the number of PTWRITEs", seen_ptwrites + 0, ptwrites)
	print faults " exceptions, " ptwrites " PTWRITEs, " stops + 0 " stops"
	exit wrong || !faults || !ptwrites || stops < 10
}
