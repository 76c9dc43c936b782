# SPDX-License-Identifier: GPL-2.0
# A Python program; the trigger is a function of the interpreter that repr() calls.


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


repr([fib(8)])
