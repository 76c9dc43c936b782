define(`times', `ifelse(`$1', `0', `', `$2`'times(decr(`$1'), `$2')')')dnl
define(`fib', `ifelse(eval($1 < 2), 1, `$1', `eval(fib(decr($1)) + fib(eval($1 - 2)))')')dnl
len(times(200, `abc')) fib(13)
