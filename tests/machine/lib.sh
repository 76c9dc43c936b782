# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
# What the scripts of the emulated machine have in common: where things are, and how they complain.
# Sourced, never run. The build folder can be moved with MTRACE_BUILD.

machine_src=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
repo_root=$(cd -- "$machine_src/../.." && pwd -P)
build_dir=${MTRACE_BUILD:-$repo_root/build}
machine_dir=$build_dir/machine
me=${0##*/}

# The kernels that the machine knows, oldest first.
machine_kernels=(5.10 6.1 6.12 7)
# One more, which only who asks for it gets: what it is made of has to be built (see debug-kernel).
debug_kernel=debug
# Those whose own driver knows all that the machine has, and that so judge it.
judging_kernels=(6.1 6.12 7)

# is_newer KERNEL: whether KERNEL is of a Debian newer than the one that the machine's programs are for, and needs the
# compiler and the C library of its own.
is_newer() {
	[[ $1 == 6.12 || $1 == 7 ]]
}

# say TEXT: progress, on stderr, so that stdout stays for results.
say() {
	printf '%s: %s\n' "$me" "$*" >&2
}

# die STATUS TEXT: one line that names what was wrong.
die() {
	local status=$1
	shift
	printf '%s: %s\n' "$me" "$*" >&2
	exit "$status"
}

# known_kernel NAME: whether NAME is one of machine_kernels, or the debug kernel.
known_kernel() {
	local k
	for k in "${machine_kernels[@]}" "$debug_kernel"; do
		[[ $k == "$1" ]] && return 0
	done
	return 1
}

# need_kernel NAME: refuses a kernel that the machine does not know, as bad usage.
need_kernel() {
	known_kernel "$1" || die 2 "unknown kernel '$1' (known: ${machine_kernels[*]} $debug_kernel)"
}
