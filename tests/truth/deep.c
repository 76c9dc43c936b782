// SPDX-License-Identifier: GPL-2.0
/*
 * A stack of 6,000 calls, gone down and up, with small calls on the way; the
 * trigger is hit at the bottom of the last one.
 */
#include <stdlib.h>

#include "tests/truth/truth.h"

static volatile unsigned int sink;

static unsigned int leaf(unsigned int x)
{
	return x ^ 0x55;
}

static unsigned int down(unsigned int n, unsigned int stop)
{
	unsigned int sum = leaf(n);

	if (n)
		sum += down(n - 1, stop);
	else if (stop)
		stop_here();
	return sum + leaf(n + 1);
}

int UNSEEN main(int argc, char **argv)
{
	unsigned int depth = argc > 1 ? (unsigned int)atoi(argv[1]) : 6000;

	truth_begin((void *)main);
	sink += down(depth / 2, 0);
	sink += down(depth, 0);
	sink += down(depth, 1);
	return 0;
}
