# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the areas of make bench share: samples, medians, the line of a figure, and the CPU time of a machine. To be
# sourced by an area's script, whose name is the area's.
#
# An area takes samples (sample, metered) into series, its own and the peer's by turns, then prints a line a figure
# (figure). A measurement that fails is told (unmeasured), and the area's last command is `finish`.

bench_src=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck disable=SC2034 # for the areas
root=$(cd -- "$bench_src/../.." && pwd -P)
area=${0##*/}
# A median of fewer would be one of them by luck.
least_samples=3

bench_tmp=$(mktemp -d)
trap 'rm -rf "$bench_tmp"' EXIT
mkdir "$bench_tmp/series"
bench_failed=0

# unmeasured NAME WHY: a figure could not be taken.
unmeasured() {
	printf 'bench: %s.%s cannot be measured: %s\n' "$area" "$1" "$2" >&2
	bench_failed=1
}

# finish: the area's end.
finish() {
	exit $bench_failed
}

# sample SERIES VALUE…: adds values to a series. Its name is any word.
sample() {
	printf '%s\n' "${@:2}" >>"$bench_tmp/series/$1"
}

# samples SERIES: how many it has.
samples() {
	if [[ -f $bench_tmp/series/$1 ]]; then
		wc -l <"$bench_tmp/series/$1"
	else
		echo 0
	fi
}

# median SERIES: of an even number, the mean of the two in the middle.
median() {
	sort -g "$bench_tmp/series/$1" | awk '
		{ value[NR] = $1 }
		END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

# figure NAME UNIT SERIES PEER WANTED: the line of a figure, which is the median of SERIES, beside that of the series
# PEER (- where there is no peer). WANTED: "ratio <= 1.3", "value <= 2" or "-".
figure() {
	local name=$1 unit=$2 series=$3 peer=$4 wanted=$5 value other=- one

	for one in "$series" "$peer"; do
		[[ $one != - ]] || continue
		if (($(samples "$one") < least_samples)); then
			unmeasured "$name" "only $(samples "$one") of $least_samples samples of $one"
			return
		fi
		if grep -qvxE -- '-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?' "$bench_tmp/series/$one"; then
			unmeasured "$name" "a sample of $one is no number"
			return
		fi
	done
	value=$(median "$series")
	[[ $peer == - ]] || other=$(median "$peer")
	if [[ $wanted == ratio* && $other == 0 ]]; then
		unmeasured "$name" "the peer is 0"
		return
	fi
	awk -v name="$area.$name" -v value="$value" -v unit="$unit" -v other="$other" -v wanted="$wanted" '
		# Two digits behind the point, of small numbers three that count.
		function short(x) {
			return x == int(x) ? sprintf("%d", x) : sprintf(x < 1 && x > -1 ? "%.3g" : "%.2f", x)
		}
		BEGIN {
			ratio = other == "-" || other == 0 ? "-" : value / other
			verdict = "-"
			if (split(wanted, want, " ") == 3) {
				got = want[1] == "ratio" ? ratio : value
				if (got != "-")
					verdict = (want[2] == "<=" ? got <= want[3] + 0 : got >= want[3] + 0) ? "ok" : "SHORT"
			}
			printf "%s %s %s | %s | %s | %s | %s\n", name, short(value), unit,
				other == "-" ? "-" : short(other), ratio == "-" ? "-" : short(ratio), wanted, verdict
		}'
}

# cpu_seconds COMMAND…: prints the user and system time of a command on this host, its children's included. What it
# prints goes to $bench_tmp/said. Its failure is the function's.
cpu_seconds() {
	python3 - "$bench_tmp/said" "$@" <<-'END'
		import resource, subprocess, sys
		with open(sys.argv[1], "w") as said:
		    status = subprocess.call(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		print(used.ru_utime + used.ru_stime)
		sys.exit(status != 0)
	END
}

# qemu_cpu PID: user and system time in seconds of a process so far.
qemu_cpu() {
	local stat
	stat=$(<"/proc/$1/stat") || return
	# The name, in brackets, may hold anything.
	awk -v ticks="$(getconf CLK_TCK)" '{ print ($12 + $13) / ticks }' <<<"${stat##*) }"
}

# metered SERIES OPTION… -- COMMAND…: runs tests/machine/run with these arguments. COMMAND prints "@begin NAME" and "@end
# NAME" (guest/timed), and the CPU time of QEMU between them becomes a sample of the series SERIES.NAME. Fails if the
# run does; what else it printed is in $bench_tmp/said.
metered() {
	local series=$1 run in qemu='' word name status=0
	local -A begun=()

	shift
	exec {in}< <(exec "$root/tests/machine/run" "$@" 2>&1)
	run=$!
	: >"$bench_tmp/said"
	while read -r word name <&"$in"; do
		case $word in
		@begin | @end)
			[[ -n $qemu ]] || qemu=$(pgrep -P "$run" -f qemu-system)
			;;
		esac
		case $word in
		@begin)
			begun[$name]=$(qemu_cpu "$qemu")
			;;
		@end)
			sample "$series.$name" "$(awk -v a="${begun[$name]}" -v b="$(qemu_cpu "$qemu")" 'BEGIN { print b - a }')"
			;;
		*)
			echo "$word $name" >>"$bench_tmp/said"
			;;
		esac
	done
	exec {in}<&-
	wait "$run" || status=$?
	return $status
}

# with_perf: sets perf to Linux's perf tool, which is a peer of many figures.
with_perf() {
	perf=$root/build/machine/perf/bin/perf
	"$root/tests/machine/fetch" perf >"$bench_tmp/said" 2>&1
}

# recorded: has the recordings of guest/record in the folder $recordings, of which the areas that want them share one;
# fails if there are none, with what was wrong in $bench_tmp/said.
recorded() {
	with_perf || return
	recordings=${BENCH_SHARED:-$bench_tmp}/recordings
	[[ ! -d $recordings/recording ]] || return 0
	mkdir -p "$recordings"
	"$root/tests/machine/run" --memory 2G --out "$recordings" -- "$bench_src/guest/record" "$perf" \
		>"$bench_tmp/said" 2>&1 || return
	tar -C "$recordings" -xf "$recordings/recording.tar"
}

# said: the last of what the last command printed, in a line.
said() {
	tail -n 3 "$bench_tmp/said" | tr '\n' ' '
}
