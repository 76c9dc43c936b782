# For any shell: loops, functions, strings, arithmetic; no process but its own.
fib() {
	if [ "$1" -lt 2 ]; then
		r=$1
		return
	fi
	set -- "$1" "$1"
	fib_a=$1
	n=0 a=0 b=1
	while [ "$n" -lt "$fib_a" ]; do
		t=$((a + b)) a=$b b=$t n=$((n + 1))
	done
	r=$a
}

i=0
sum=0
while [ "$i" -lt 30 ]; do
	fib $((i % 40))
	sum=$((sum + r))
	case $r in
	*[13579]) odd="$odd." ;;
	*) even="${even#.}.." ;;
	esac
	i=$((i + 1))
done
echo "$sum ${#odd} ${#even}"
