# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# Images: machines that have booted and wait for their job, saved so that the next one need not boot. It owns
# build/machine/images and when an image may be used. Sourced by run; machine.sh says what a machine is. The folder can be
# another, by MTRACE_IMAGES, for who would be disturbed by other runs' images, or disturb them.
#
# An image is a folder, named by a hash of its `key`, the list of all that it depends on:
#   machine   the guest's memory and QEMU's devices   plugin   the plugin's own state
#   console   what the kernel said while it booted    key      what it was made of
#   whole     what of these can be looked at quickly, to tell that nothing was cut off since
# What belongs to one run is not in it: the guest has mounted nothing of the host's and loaded no module yet. It appears
# under its name when it is whole, so what has the name may be used.

images_dir=$(realpath -m -- "${MTRACE_IMAGES:-$machine_dir/images}")
# More are removed, the longest unused first; each takes about 100 MB.
images_kept=20
# A boot that takes longer is given up (seconds).
image_patience=300
# So often a machine is booted that a busy host has made unfit for an image.
image_tries=3

image=

# lasting_arguments: the plugin's arguments that a machine bears marks of which has only booted; not those that say what
# to write or how to trace, nor the model that it is anyway. Sets the array lasting.
lasting_arguments() {
	local argument
	lasting=()
	for argument in "${plugin_args[@]}"; do
		[[ $argument =~ ^((pclog|packets|stats|log|count|fault|tnt|tips)=|model=max$) ]] || lasting+=("$argument")
	done
}

# image_key: all that a machine that has booted depends on, as text. Files that other scripts replace as a whole are
# told by their time; the TSC has this host's rate, as it is since this host's start.
image_key() {
	printf 'kernel %s\nsmp %s\nnuma %s\nmemory %s\ncpu %s\nappend %s\n' "$kernel" "$smp" "$numa" "$memory" "$qemu_cpu" "$append"
	if ((use_plugin)); then
		printf 'plugin%s\n' "${lasting[*]/#/ }"
		sha256sum <"$plugin"
	fi
	sha256sum "$initramfs" "$machine_src/machine.sh" "$machine_src/image.sh"
	stat -L -c '%n %i %s %y' "$machine_dir/kernels/$kernel/vmlinux" "$machine_dir/qemu/usr/bin/qemu-system-x86_64" \
		"$machine_dir/qemu/usr/libexec/virtiofsd"
	echo "host $(</proc/sys/kernel/random/boot_id)"
}

# no_image WHY: there will be none; the machine boots.
no_image() {
	say "no image of the machine ($*); it boots instead"
	image=
}

# find_image FRESH: sets image to the folder of one that fits, made now if there is none or if FRESH is not 0; to nothing
# if there can be none.
find_image() {
	local key lock lasting
	lasting_arguments
	key=$(image_key)
	image=$images_dir/$(sha256sum <<<"$key" | cut -c 1-32)
	if ! mkdir -p "$images_dir" 2>/dev/null || ! { exec {lock}>"$image.lock"; } 2>/dev/null; then
		no_image "$images_dir cannot be written"
		return
	fi
	# Another run may be making it. The waiting is done in the background so that a signal is heeded.
	start flock "$lock"
	sleeper_pid=$!
	wait "$sleeper_pid"
	sleeper_pid=
	(($1)) && rm -rf "$image"
	if [[ -d $image ]] && [[ $(whole "$image") != "$(cat "$image/whole" 2>&1)" ]]; then
		# QEMU would take memory that is not there for zeros.
		say "the image of the machine does not load (it is damaged); it boots instead"
		drop_image
	elif [[ -d $image ]]; then
		# The time tells when it was last used.
		touch "$image"
	else
		make_image "$key"
	fi
	exec {lock}>&-
}

# whole IMAGE: the size of the machine, which is too large to be read for this, and a sum of the plugin's part.
whole() {
	stat -c %s "$1/machine" 2>&1
	[[ ! -f $1/plugin ]] || sha256sum <"$1/plugin"
}

# drop_image: removes an image that was of no use.
drop_image() {
	rm -rf "$image"
	image=
}

# expire_images: removes the images longest unused, what runs that were killed have left half-made, and locks that nobody
# has asked for in a day.
expire_images() {
	local old part
	while read -r old; do
		rm -rf "${images_dir:?}/$old"
	done < <(cd "$images_dir" && find . -mindepth 1 -maxdepth 1 -type d ! -name '*.part.*' -printf '%T@ %f\n' | sort -rn |
		tail -n +$((images_kept + 1)) | cut -d ' ' -f 2)
	find "$images_dir" -maxdepth 1 -name '*.lock' -mmin +1440 -delete
	for part in "$images_dir"/*.part.*; do
		kill -0 "${part##*.}" 2>/dev/null || rm -rf "$part"
	done
}

# make_image KEY: boots a machine until it waits for its job, and saves it as $image. Sets image to nothing if that fails.
make_image() {
	local part=$image.part.$$ trouble unfit tries
	expire_images
	for ((tries = 0; tries < image_tries; tries++)); do
		trouble=
		unfit=
		rm -rf "$part"
		mkdir "$part"
		ln -sfn "$part" "$work/image"
		printf '%s\n' "$1" >"$part/key"
		boot_image && save_image || trouble=${trouble:-it was not saved}
		console >"$part/console"
		# QEMU that refused its arguments would do so again.
		[[ $trouble != "QEMU ended with status "* || -s $work/console ]] || machine_failed "$trouble"
		kill_machine
		empty_work
		[[ $unfit ]] || break
	done
	[[ $trouble ]] || whole "$part" >"$part/whole" || trouble="$images_dir cannot be written"
	if [[ -z $trouble ]] && ! mv -T "$part" "$image" 2>/dev/null; then
		trouble="$images_dir cannot be written"
	fi
	[[ -z $trouble ]] || rm -rf "$part"
	[[ -z $trouble ]] || no_image "$trouble"
}

# boot_image: boots the machine until the guest has settled; sets trouble if it does not, and unfit if another boot may be
# better.
boot_image() {
	local nr name
	out='' share_folders
	devices+=(-device virtio-serial-pci)
	port stdout 1 "file,path=$work/stdout"
	port stderr 2 "file,path=$work/stderr"
	port status 3 "file,path=$work/status"
	port dmesg 4 "file,path=$work/dmesg"
	mkfifo "$work/job-port.in" "$work/job-port.out" "$work/monitor.in" "$work/monitor.out"
	port job 5 "pipe,path=$work/job-port"
	wait_for_shares
	kernel_arguments
	plugin_arguments "${lasting[@]}" "save=$work/image/plugin"
	start_qemu "${booting[@]}" "${plugging[@]}" -chardev "pipe,id=monitor,path=$work/monitor" \
		-object "monitor-qmp,id=qmp,chardev=monitor"
	await_report ready || return
	echo settle >"$work/job-port.in"
	await_report settled || return
	# A kernel that was not let run evenly while it measured the TSC has a clock that is many times too fast, and one that
	# so measured the APIC's timer has no timers but the tick; in an image it would keep that for ever.
	if grep -qE 'calibration deviates|Could not switch to high resolution' "$work/console"; then
		trouble="its kernel has measured the clock wrong, as happens on a busy host"
		unfit=1
		return 1
	fi
}

# await_report REPORT: waits until the guest's init has made it; sets trouble if it will not.
await_report() {
	local until=$((SECONDS + image_patience)) status=0 line
	until said "$1"; do
		if ! kill -0 "$qemu_pid" 2>/dev/null; then
			wait "$qemu_pid" || status=$?
			line=$(grep -v '^$' "$work/qemu.log" | head -n 1) || true
			trouble="QEMU ended with status $status: ${line:-it said nothing}"
			return 1
		fi
		if ((SECONDS > until)); then
			trouble="it has not booted after $image_patience s"
			return 1
		fi
		sleep 0.02
	done
}

# save_image: has QEMU write the machine to the image, and end; sets trouble if it cannot.
save_image() {
	local in out line
	if ((use_plugin)) && [[ ! -s $work/image/plugin ]]; then
		trouble="the plugin does not save its part: $(grep -v '^$' "$work/qemu.log" | tail -n 1)"
		return 1
	fi
	exec {in}<>"$work/monitor.in" {out}<>"$work/monitor.out"
	qmp qmp_capabilities &&
		qmp migrate-set-capabilities '{"capabilities": [{"capability": "events", "state": true}]}' &&
		qmp migrate-set-parameters '{"max-bandwidth": 0}' &&
		qmp migrate '{"uri": "file:'"$work/image/machine"'"}' &&
		await_qmp '"MIGRATION".*"(completed|failed)"' || return
	if [[ $line != *completed* ]]; then
		trouble="QEMU cannot save it: $(grep -v '^$' "$work/qemu.log" | tail -n 1)"
		return 1
	fi
	exec {in}>&- {out}>&-
}

# qmp COMMAND [ARGUMENTS]: has QEMU's monitor obey; sets trouble if it does not.
qmp() {
	printf '{"execute": "%s", "arguments": %s}\n' "$1" "${2-{\}}" >&"$in"
	await_qmp '"(return|error)"' || return
	if [[ $line == *'"error"'* ]]; then
		trouble="QEMU refuses $1: $line"
		return 1
	fi
}

# await_qmp PATTERN: reads the monitor until a line has PATTERN, and leaves it in line; sets trouble if none comes.
await_qmp() {
	local until=$((SECONDS + image_patience))
	while kill -0 "$qemu_pid" 2>/dev/null && ((SECONDS <= until)); do
		line=
		! read -r -t 1 -u "$out" line || [[ ! $line =~ $1 ]] || return 0
	done
	trouble="QEMU does not answer"
	return 1
}
