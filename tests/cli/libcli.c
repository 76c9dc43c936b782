// SPDX-License-Identifier: GPL-2.0
/*
 * Two libraries from one source: libcli.so, which prog is linked with, and with
 * -DLATE liblate.so, which it loads with dlopen().
 */
#ifdef LATE
#define NAME(x) late_##x
#else
#define NAME(x) lib_##x
#endif

int NAME(target)(int n);
int NAME(entry)(int n);
int NAME(constructed)(void);

static volatile int sink;

__attribute__((noinline, noipa)) int NAME(constructed)(void)
{
	return ++sink;
}

__attribute__((constructor)) static void construct(void)
{
	NAME(constructed)();
}

__attribute__((noinline, noipa)) int NAME(target)(int n)
{
	sink += n;
	return sink;
}

__attribute__((noinline, noipa)) int NAME(entry)(int n)
{
	int r = NAME(target)(n);

	sink++;
	return r + 1;
}
