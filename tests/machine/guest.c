// SPDX-License-Identifier: GPL-2.0
/*
 * What the guest's init needs and a shell cannot do. Static, in the initramfs.
 *
 *	guest save	has the plugin write its part of the machine, which it can do
 *			only while the guest runs; status 1 if there is no plugin
 *			that has been told to
 *	guest reseed	makes the kernel's random generator depend on what comes from
 *			stdin, at once: machines that come out of one image would else
 *			draw the same numbers. A seed written to /dev/random would have
 *			its effect up to a minute later.
 */
#include <cpuid.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* As in the plugin's intercept.c */
#define CPUID_MACHINE_SAVE 0x4d540010
#define CPUID_MACHINE_DONE 0x4d54c0de

#define SEED_SIZE 64

static int save(void)
{
	unsigned int eax, ebx, ecx, edx;

	__cpuid_count(CPUID_MACHINE_SAVE, 0, eax, ebx, ecx, edx);
	return eax != CPUID_MACHINE_DONE;
}

static int reseed(void)
{
	union {
		struct rand_pool_info info;
		char bytes[sizeof(struct rand_pool_info) + SEED_SIZE];
	} seed;
	const int random = open("/dev/random", O_WRONLY);

	if (read(STDIN_FILENO, seed.info.buf, SEED_SIZE) != SEED_SIZE) {
		fprintf(stderr, "guest: reseed needs %d bytes on stdin\n", SEED_SIZE);
		return 1;
	}
	seed.info.buf_size = SEED_SIZE;
	seed.info.entropy_count = SEED_SIZE * 8;
	if (ioctl(random, RNDADDENTROPY, &seed.info) || ioctl(random, RNDRESEEDCRNG)) {
		perror("guest: /dev/random");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "save"))
		return save();
	if (argc == 2 && !strcmp(argv[1], "reseed"))
		return reseed();
	fprintf(stderr, "usage: guest save|reseed\n");
	return 2;
}
