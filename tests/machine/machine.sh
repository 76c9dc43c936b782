# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# The virtual machine: what QEMU is told it is made of, and the processes on this host that it consists of. It knows
# neither what the machine is for nor what its end means. Sourced by run, which sets the variables that it reads.
#
# A machine that is booted and one that comes out of an image must be made of the same devices in the same order, or
# the image does not fit; that is why all of them are named here.

# no_machine: none is there yet, or any more.
no_machine() {
	qemu_pid=
	sleeper_pid=
	daemon_pids=()
	relay_pids=()
	devices=()
	sockets=()
}
no_machine

# What the guest's kernel is told: to say warnings and worse on the console; to end the machine on a panic, and to panic
# on an oops; to leave out two seconds of testing its own ciphers, and a watchdog that a busy host would set off; and to
# trust the TSC, as it does on the processors that have PT, though an image's time stands still while others' does not.
boot_arguments="console=ttyS0 loglevel=5 panic=-1 oops=panic nokaslr cryptomgr.notests nmi_watchdog=0 tsc=nowatchdog"

# start COMMAND…: starts it in the background, to die with run even if run is killed. The caller reads $!.
start() {
	setpriv --pdeathsig KILL -- "$@" &
}

# share TAG DIR OPTION…: starts a daemon that shows DIR to the guest, and adds the device for it.
share() {
	local tag=$1 dir=$2 socket=$work/$1.socket
	shift 2
	# Submounts must look like plain folders, or the overlay refuses to descend into them.
	start "$machine_dir/qemu/bin/virtiofsd" --socket-path "$socket" --shared-dir "$dir" --no-announce-submounts \
		--sandbox "$sandbox" --inode-file-handles="$handles" --log-level error "$@" </dev/null >"$work/$tag.log" 2>&1
	daemon_pids+=($!)
	devices+=(-chardev "socket,id=$tag,path=$socket" -device "vhost-user-fs-pci,chardev=$tag,tag=$tag")
	sockets+=("$socket")
}

# share_folders: the host's root, and /out or, if none is wanted, an empty folder in its place.
share_folders() {
	# Only root may change its root; another user is confined by a namespace of its own.
	local sandbox=namespace handles=never
	[[ $EUID != 0 ]] || sandbox=chroot
	# Or virtiofsd keeps a descriptor for each file that the guest has looked at, and runs out. It finds the file system
	# of a handle by its mount, which a changed root has not.
	if [[ $EUID == 0 ]] && awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo; then
		handles=prefer
	fi
	share hostroot / --readonly --cache always
	mkdir -p "$work/no-out"
	share out "${out:-$work/no-out}" --cache auto --writeback
}

# wait_for_shares: the daemons make their sockets; QEMU would not wait for them.
wait_for_shares() {
	local tries i
	for i in "${!sockets[@]}"; do
		for ((tries = 0; ; tries++)); do
			[[ ! -S ${sockets[i]} ]] || break
			if ((tries == 1000)) || ! kill -0 "${daemon_pids[i]}" 2>/dev/null; then
				machine_failed "virtiofsd does not start: $(tail -n 1 "${sockets[i]%.socket}.log")"
			fi
			sleep 0.01
		done
	done
}

# port NAME NR CHARDEV: a port of the guest's virtio serial device; what it is for stands in init's head comment.
port() {
	devices+=(-chardev "$3,id=$1" -device "virtserialport,chardev=$1,nr=$2")
}

# relay NAME NR FD: a port of the guest that ends in run's own FD. A pipe and a cat stand between, because QEMU makes
# what it writes to non-blocking, which run's caller would feel on its own terminal.
relay() {
	mkfifo "$work/$1"
	start cat "$work/$1" >&"$3"
	relay_pids+=($!)
	port "$1" "$2" "file,path=$work/$1"
}

# memory_mib: the machine's memory as a number of MiB.
memory_mib() {
	case $memory in
	*G) echo $((${memory%G} * 1024)) ;;
	*) echo "${memory%M}" ;;
	esac
}

# memory_arguments: those of QEMU's that give the machine its memory, which the daemons share; sets the array memories.
memory_arguments() {
	local node size=$(($(memory_mib) / numa))M
	memories=(-m "$memory")
	if ((numa == 1)); then
		memories+=(-object "memory-backend-memfd,id=mem,size=$size,share=on" -machine memory-backend=mem)
		return
	fi
	for ((node = 0; node < numa; node++)); do
		memories+=(-object "memory-backend-memfd,id=mem$node,size=$size,share=on" -numa
			"node,memdev=mem$node,cpus=$((node * smp / numa))-$(((node + 1) * smp / numa - 1))")
	done
}

# start_qemu ARG…: starts the machine with these arguments of QEMU's beside the devices.
start_qemu() {
	local memories
	memory_arguments
	start "$machine_dir/qemu/bin/qemu-system-x86_64" -accel tcg,thread=multi -M q35 -cpu "$qemu_cpu" -smp "$smp" \
		"${memories[@]}" -nodefaults -no-user-config -display none -no-reboot \
		-chardev "file,id=console,path=$work/console,append=on" -serial chardev:console \
		-global migration.mapped-ram=on -global migration.store-global-state=off \
		"${devices[@]}" "$@" </dev/null >"$work/qemu.log" 2>&1
	qemu_pid=$!
}

# kernel_arguments: those of QEMU's that make the machine boot; sets the array booting.
kernel_arguments() {
	booting=(-kernel "$machine_dir/kernels/$kernel/vmlinux" -initrd "$initramfs" -append "$boot_arguments $append")
}

# plugin_arguments ARG…: those of QEMU's that load the plugin with these arguments; sets the array plugging.
plugin_arguments() {
	local IFS=,
	plugging=()
	((!use_plugin)) || plugging=(-plugin "$plugin${*:+,$*}")
}

# said REPORT: whether the guest's init has made this report.
said() {
	grep -qsx "$1" "$work/status"
}

# kill_machine: ends every process of the machine.
kill_machine() {
	local pid
	for pid in $qemu_pid $sleeper_pid "${daemon_pids[@]}" "${relay_pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	no_machine
}
