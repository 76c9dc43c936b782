// SPDX-License-Identifier: GPL-2.0
/* Hits the trigger 20 times, with a little work between. */
#include "tests/truth/truth.h"

static volatile unsigned int sink;

static unsigned int step(unsigned int x)
{
	return x < 2 ? x : step(x - 1) + step(x - 2);
}

static void one_hit(unsigned int i)
{
	sink += step(4 + i % 5);
	stop_here();
	sink += step(3);
}

int UNSEEN main(void)
{
	unsigned int i;

	truth_begin((void *)main);
	for (i = 0; i < 20; i++)
		one_hit(i);
	return 0;
}
