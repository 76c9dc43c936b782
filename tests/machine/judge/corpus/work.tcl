# For an interpreter with byte code: lists, strings, arrays, errors.
proc fib {n} { if {$n < 2} { return $n }; expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
set words {}
for {set i 0} {$i < 600} {incr i} { lappend words w[expr {$i * 7919 % 251}]; incr count(w[expr {$i % 17}]) }
set bad 0
foreach w $words { if {[catch {error $w}]} { incr bad } }
puts "[fib 13] [llength [lsort -unique $words]] [array size count] $bad"
