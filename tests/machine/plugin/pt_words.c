// SPDX-License-Identifier: GPL-2.0
/*
 * The names that the plugin knows, for scripts: prints those of the models or
 * of the faults, with commas between.
 *
 *	pt-words models|faults
 */
#include "pt_fault.h"
#include "pt_model.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *names = NULL;

	if (argc == 2 && !strcmp(argv[1], "models"))
		names = pt_model_names;
	else if (argc == 2 && !strcmp(argv[1], "faults"))
		names = pt_fault_names;
	if (!names) {
		fprintf(stderr, "usage: pt-words models|faults\n");
		return 2;
	}
	puts(names);
	return 0;
}
