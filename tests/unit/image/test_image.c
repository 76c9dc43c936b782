// SPDX-License-Identifier: GPL-2.0
/*
 * Code bytes and names, on files that the test compiles and on the programs of
 * this machine. What is right is asked of nm, readelf and objdump.
 */
#include "tests/unit/image/process.h"

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	write_file("lib.c",
		   "__attribute__((noinline)) int plain(int x) { return x * 3; }\n"
		   "__attribute__((noinline)) static int hidden(int x) { return x + plain(x); }\n"
		   "int shown(int x) { return hidden(x) + 1; }\n"
		   "int __shown_alias(int x) __attribute__((alias(\"shown\")));\n"
		   "int weak_name(int x) __attribute__((weak, alias(\"shown\")));\n"
		   "int puts(const char *);\n"
		   "int hello(void) { return puts(\"x\"); }\n"
		   /* no size; a hole of 256 bytes; a label inside of a function */
		   "asm(\".text\\n.globl no_size\\n.type no_size,@function\\n\"\n"
		   "    \"no_size: nop; nop; ret\\n.size no_size, 0\\n\"\n"
		   "    \".globl sized\\n.type sized,@function\\n\"\n"
		   "    \"sized: nop; inner_label: nop; ret\\n.size sized, .-sized\\n\"\n"
		   "    \".fill 256,1,0x90\\n\"\n"
		   "    \".globl outer\\n.type outer,@function\\n\"\n"
		   "    \"outer: nop; nop\\n\"\n"
		   "    \".globl inner\\n.type inner,@function\\n\"\n"
		   "    \"inner: nop; nop\\n.size inner, 2\\n\"\n"
		   "    \"nop; nop; ret\\n.size outer, .-outer\\n\"\n"
		   "    \".globl versioned_1\\n.type versioned_1,@function\\n\"\n"
		   "    \"versioned_1: ret\\n.size versioned_1, 1\\n\"\n"
		   "    \".symver versioned_1, versioned@@V1\\n\");\n");
	write_file("map", "V1 { global: *; };\n");
	assert_int_equal(shell("cd %s && gcc -O1 -fPIC -shared -Wl,--build-id "
			       "-Wl,--version-script=map -o lib.so lib.c", dir), 0);
	assert_int_equal(shell("cd %s && gcc -O1 -fPIC -shared -fcf-protection -Wl,-z,ibtplt "
			       "-Wl,-z,lazy -Wl,--build-id -o ibt.so lib.c 2>/dev/null || "
			       "cp lib.so ibt.so", dir), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return shell("rm -rf %s", dir);
}

static void test_names(void **state)
{
	struct process p = { 0 };
	const struct mt_function *function;
	uint64_t at;

	(void)state;
	map_file(&p, lib("lib.so"), BIAS, NULL);
	start(&p);
	at = BIAS + address_of(lib("lib.so"), "plain");
	function = find(&p, at);
	assert_string_equal(function->name, "plain");
	assert_string_equal(function->object, lib("lib.so"));
	assert_int_equal(function->start, at);
	assert_ptr_equal(find(&p, function->end - 1), function);
	assert_ptr_not_equal(find(&p, function->end), function);
	assert_string_equal(find(&p, BIAS + address_of(lib("lib.so"), "hidden"))->name, "hidden");
	/* of shown, __shown_alias and weak_name */
	assert_string_equal(find(&p, BIAS + address_of(lib("lib.so"), "weak_name"))->name,
			    "shown");
	stop(&p);
}

static void test_sizes_and_holes(void **state)
{
	struct process p = { 0 };
	const struct mt_function *function, *hole;
	uint64_t sized;
	char name[64];

	(void)state;
	map_file(&p, lib("lib.so"), BIAS, NULL);
	start(&p);
	sized = BIAS + address_of(lib("lib.so"), "sized");

	/* without a size: up to the next symbol */
	function = find(&p, sized - 1);
	assert_string_equal(function->name, "no_size");
	assert_int_equal(function->end, sized);

	/* a label inside is no function */
	function = find(&p, sized + 1);
	assert_string_equal(function->name, "sized");
	assert_int_equal(function->end, sized + 3);

	/* what no symbol covers is one function */
	hole = find(&p, sized + 3);
	snprintf(name, sizeof(name), "lib.so+0x%lx", (unsigned long)(sized + 3 - BIAS));
	assert_string_equal(hole->name, name);
	assert_ptr_equal(find(&p, sized + 3 + 255), hole);
	assert_int_equal(hole->start, sized + 3);
	assert_int_equal(hole->end, sized + 3 + 256);

	/* a function inside of another one; asked for in an order that a cache may spoil */
	function = find(&p, sized + 3 + 256);
	assert_string_equal(function->name, "outer");
	assert_string_equal(find(&p, sized + 3 + 258)->name, "inner");
	assert_ptr_equal(find(&p, sized + 3 + 257), function);
	assert_string_equal(find(&p, sized + 3 + 259)->name, "inner");
	assert_ptr_equal(find(&p, sized + 3 + 260), function);

	/* outside of all */
	assert_string_equal(find(&p, 0x1000)->name, "[unknown]");
	assert_ptr_equal(find(&p, 0x1000), find(&p, 0xffffffff80000000));
	stop(&p);
}

static void test_versions(void **state)
{
	struct process p = { 0 };

	(void)state;
	map_file(&p, lib("lib.so"), BIAS, NULL);
	start(&p);
	assert_string_equal(find(&p, BIAS + address_of(lib("lib.so"), "versioned_1"))->name,
			    "versioned");
	stop(&p);
}

/* glibc has second names for its own calls, longer or shorter than the first. */
static void test_internal_names(void **state)
{
	struct process p = { 0 };

	(void)state;
	write_file("gi.c",
		   "static int ____parse(int x) { return x * 3; }\n"
		   "static int __GI_____parse(int) __attribute__((alias(\"____parse\"), used));\n"
		   "static int longer_name(int x) { return x * 5; }\n"
		   "static int __GI_n(int) __attribute__((alias(\"longer_name\"), used));\n"
		   "static int cut(int x) { return x * 7; }\n"
		   "static int __GI___alone(int) __attribute__((alias(\"cut\"), used));\n"
		   "int call(int x) { return ____parse(x) + longer_name(x) + cut(x); }\n");
	assert_int_equal(shell("cd %s && gcc -O0 -fPIC -shared -o gi.so gi.c && "
			       "objcopy --strip-symbol=cut gi.so", dir), 0);
	map_file(&p, lib("gi.so"), BIAS, NULL);
	start(&p);
	assert_string_equal(find(&p, BIAS + address_of(lib("gi.so"), "__GI_____parse"))->name,
			    "____parse");
	assert_string_equal(find(&p, BIAS + address_of(lib("gi.so"), "__GI_n"))->name,
			    "longer_name");
	/* the only name there is */
	assert_string_equal(find(&p, BIAS + address_of(lib("gi.so"), "__GI___alone"))->name,
			    "__GI___alone");
	stop(&p);
}

/* Each "<name@plt>:" of objdump. */
static void check_plt(const char *path, unsigned int at_least)
{
	struct process p = { 0 };
	char line[512], name[256];
	unsigned long address;
	unsigned int count = 0;
	FILE *f;

	map_file(&p, path, BIAS, NULL);
	start(&p);
	f = lines("objdump -d %s | grep '@plt>:$'", path);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx <%255[^>]>", &address, name) != 2)
			continue;
		if (strchr(name, '@') && strchr(name, '@') != strrchr(name, '@'))
			continue;
		assert_string_equal(find(&p, BIAS + address)->name, name);
		count++;
	}
	pclose(f);
	assert_true(count >= at_least);
	stop(&p);
}

/* A call of an indirect function from within its own library, as libc does. */
static void test_indirect_plt(void **state)
{
	struct process p = { 0 };
	unsigned long address;
	char line[512] = "";
	FILE *f;

	(void)state;
	write_file("ifunc.c",
		   "static int a(void) { return 1; }\n"
		   "static void *choose(void) { return a; }\n"
		   "__attribute__((visibility(\"protected\"))) int chosen(void)\n"
		   "\t__attribute__((ifunc(\"choose\")));\n"
		   "int __chosen(void) __attribute__((weak, alias(\"chosen\")));\n"
		   "int call(void) { return chosen() + 1; }\n");
	assert_int_equal(shell("cd %s && gcc -O1 -fPIC -shared -o ifunc.so ifunc.c", dir), 0);
	f = lines("objdump -d %s | sed -n 's/^\\([0-9a-f]*\\) <[*]ABS[*].*@plt>:/\\1/p'",
		  lib("ifunc.so"));
	if (!fgets(line, sizeof(line), f))
		print_message("the linker made no such stub\n");
	pclose(f);
	if (!line[0])
		skip();
	address = strtoul(line, NULL, 16);
	map_file(&p, lib("ifunc.so"), BIAS, NULL);
	start(&p);
	assert_string_equal(find(&p, BIAS + address)->name, "chosen@plt");
	stop(&p);
}

/* A static program has stubs for indirect functions, of 8 bytes; _start() calls each. */
static void test_static_plt(void **state)
{
	static const char *const names[] = { "first@plt", "second@plt", "third@plt" };
	const struct mt_function *function;
	struct process p = { 0 };
	char line[512];
	size_t i;
	FILE *f;

	(void)state;
	write_file("static.c",
		   "static int a(void) { return 1; }\n"
		   "static void *choose_1(void) { return a; }\n"
		   "static void *choose_2(void) { return a; }\n"
		   "static void *choose_3(void) { return a; }\n"
		   "int first(void) __attribute__((ifunc(\"choose_1\")));\n"
		   "int second(void) __attribute__((ifunc(\"choose_2\")));\n"
		   "int third(void) __attribute__((ifunc(\"choose_3\")));\n"
		   "void _start(void) { first(); second(); third(); }\n");
	assert_int_equal(shell("cd %s && gcc -O0 -fno-pie -no-pie -static -nostdlib "
			       "-fcf-protection=none -o static static.c", dir), 0);
	map_file(&p, lib("static"), 0, NULL);
	start(&p);
	f = lines("objdump -d --disassemble=_start %s | sed -n 's/.*\\tcall *\\([0-9a-f]*\\).*/\\1/p'",
		  lib("static"));
	for (i = 0; i < 3; i++) {
		assert_non_null(fgets(line, sizeof(line), f));
		function = find(&p, strtoul(line, NULL, 16));
		assert_string_equal(function->name, names[i]);
		assert_int_equal(function->start, strtoul(line, NULL, 16));
	}
	pclose(f);
	stop(&p);
}

static void test_plt(void **state)
{
	(void)state;
	check_plt(lib("lib.so"), 1);
	check_plt(lib("ibt.so"), 1);
	check_plt("/bin/ls", 50);
}

/* Every function of libc and python3 by nm -D: a name of the same address. */
static void check_dynamic(const char *path)
{
	struct process p = { 0 };
	char line[1024], name[512], type;
	unsigned long address, size;
	unsigned int count = 0;
	uint64_t last = 0;
	FILE *f;

	map_file(&p, path, 0, NULL);
	start(&p);
	f = lines("nm -D -S --defined-only -n %s", path);
	while (fgets(line, sizeof(line), f)) {
		const struct mt_function *function;

		if (sscanf(line, "%lx %lx %c %511s", &address, &size, &type, name) != 4 ||
		    !strchr("TWit", type) || !size || address == last)
			continue;
		last = address;
		function = find(&p, address);
		assert_int_equal(function->start, address);
		assert_true(function->name[0] != '\0');
		count++;
	}
	pclose(f);
	assert_true(count > 100);
	stop(&p);
}

static void test_real_files(void **state)
{
	char path[512] = "";
	FILE *f = lines("%s", "ldd /bin/ls | sed -n 's/.*=> \\(.*libc.so.6\\) .*/\\1/p'");

	(void)state;
	assert_non_null(fgets(path, sizeof(path), f));
	pclose(f);
	path[strcspn(path, "\n")] = '\0';
	check_dynamic(path);
}

/* The bytes at a function are those of the file, by both ways. */
static void test_bytes(void **state)
{
	struct process p = { 0 };
	uint8_t bytes[64], expected[64];
	uint64_t at, offset;
	struct mt_elf *elf;
	int fd;

	(void)state;
	map_file(&p, lib("lib.so"), BIAS, NULL);
	start(&p);
	at = address_of(lib("lib.so"), "plain");
	assert_int_equal(mt_elf_open(lib("lib.so"), &elf), 0);
	assert_int_equal(mt_elf_vaddr_to_offset(elf, at, &offset), 0);
	mt_elf_close(elf);
	fd = open(lib("lib.so"), O_RDONLY);
	assert_int_equal(pread(fd, expected, sizeof(expected), offset), sizeof(expected));
	close(fd);
	assert_int_equal(p.code.read(p.code.ctx, BIAS + at, bytes, sizeof(bytes)), sizeof(bytes));
	assert_memory_equal(bytes, expected, sizeof(bytes));
	assert_int_equal(p.code.read(p.code.ctx, 0x1000, bytes, sizeof(bytes)), 0);
	/* up to the end of the map, no further */
	assert_int_equal(p.code.read(p.code.ctx, p.maps[0].end - 3, bytes, sizeof(bytes)), 3);
	stop(&p);
}

static void test_build_id(void **state)
{
	struct process p = { 0 };
	struct mt_image *second;
	uint8_t byte;
	uint64_t at;

	(void)state;
	map_file(&p, lib("lib.so"), BIAS, "0123456789abcdef");
	at = BIAS + address_of(lib("lib.so"), "plain");
	listen();
	start(&p);
	assert_int_equal(mt_image_new(p.cache, p.maps, p.count, &second), 0);
	heard();
	mt_image_free(second);
	assert_int_equal(count_of("lib.so"), 1);
	assert_int_equal(count_of("0123456789abcdef"), 1);
	assert_int_equal(p.code.read(p.code.ctx, at, &byte, 1), 0);
	assert_non_null(strstr(find(&p, at)->name, "lib.so+0x"));
	stop(&p);
}

static void test_missing(void **state)
{
	struct process p = { .count = 2 };
	struct mt_image *second;
	uint8_t byte;

	(void)state;
	p.maps[0] = (struct mt_map) { .start = 0x400000, .end = 0x402000, .offset = 0x1000,
				      .path = strdup("/nowhere/gone.so") };
	p.maps[1] = (struct mt_map) { .start = 0x500000, .end = 0x501000, .path = strdup("") };
	listen();
	start(&p);
	assert_int_equal(mt_image_new(p.cache, p.maps, p.count, &second), 0);
	heard();
	mt_image_free(second);
	assert_int_equal(count_of("/nowhere/gone.so"), 1);
	assert_int_equal(count_of("\n"), 1);
	assert_int_equal(p.code.read(p.code.ctx, 0x400100, &byte, 1), 0);
	assert_string_equal(find(&p, 0x400100)->name, "gone.so+0x1000");
	assert_string_equal(find(&p, 0x400100)->object, "/nowhere/gone.so");
	assert_string_equal(find(&p, 0x500100)->object, "[anonymous]");
	stop(&p);
}

/* A file that was replaced by its equal after it was mapped. */
static void test_deleted(void **state)
{
	struct process p = { 0 };
	char *path;
	uint64_t at;

	(void)state;
	map_file(&p, lib("lib.so"), BIAS, NULL);
	assert_true(asprintf(&path, "%s (deleted)", p.maps[0].path) > 0);
	free(p.maps[0].path);
	p.maps[0].path = path;
	at = BIAS + address_of(lib("lib.so"), "plain");
	start(&p);
	assert_string_equal(find(&p, at)->name, "plain");
	stop(&p);
}

/* The vdso of this very process, as the recorder would keep it. */
static void test_vdso(void **state)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct process p = { .count = 1 };
	unsigned long address;
	char line[512];
	uint8_t byte;
	FILE *f;

	(void)state;
	if (!vdso)
		skip();
	f = fopen(lib("vdso"), "w");
	assert_int_equal(fwrite(vdso, 1, 8192, f), 8192);
	fclose(f);
	p.maps[0] = (struct mt_map) { .start = 0x7ffff7fc1000, .end = 0x7ffff7fc3000,
				      .path = strdup("[vdso]"), .image = strdup("vdso") };
	start(&p);
	f = lines("nm -D %s | sed -n 's/ . __vdso_time.*//p' | head -1", lib("vdso"));
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	address = strtoul(line, NULL, 16);
	assert_string_equal(find(&p, 0x7ffff7fc1000 + address)->name, "time");
	assert_string_equal(find(&p, 0x7ffff7fc1000 + address)->object, "[vdso]");
	assert_int_equal(p.code.read(p.code.ctx, 0x7ffff7fc1000 + address, &byte, 1), 1);
	assert_int_equal(byte, (uint8_t)vdso[address]);
	stop(&p);
}

/* Code that was only in memory: bytes, but no names. */
static void test_anonymous_image(void **state)
{
	struct process p = { .count = 1 };
	uint8_t bytes[8];

	(void)state;
	write_file("jit", "ABCDEFGH");
	p.maps[0] = (struct mt_map) { .start = 0x10000, .end = 0x11000, .offset = 0,
				      .path = strdup(""), .image = strdup("jit") };
	start(&p);
	assert_int_equal(p.code.read(p.code.ctx, 0x10002, bytes, sizeof(bytes)), 6);
	assert_memory_equal(bytes, "CDEFGH", 6);
	assert_string_equal(find(&p, 0x10002)->object, "[anonymous]");
	assert_int_equal(find(&p, 0x10002)->start, 0x10000);
	assert_int_equal(find(&p, 0x10002)->end, 0x11000);
	stop(&p);
}

/* The same mapping in two snapshots gives the same functions; elsewhere, others. */
static void test_identity(void **state)
{
	struct process p = { 0 }, q = { 0 };
	struct mt_image *second;
	struct mt_resolver resolver;
	uint64_t at;

	(void)state;
	map_file(&p, lib("lib.so"), BIAS, NULL);
	map_file(&q, lib("lib.so"), 2 * BIAS, NULL);
	start(&p);
	at = address_of(lib("lib.so"), "plain");
	assert_int_equal(mt_image_new(p.cache, p.maps, p.count, &second), 0);
	resolver = mt_image_resolver(second);
	assert_ptr_equal(resolver.find(resolver.ctx, BIAS + at), find(&p, BIAS + at));
	mt_image_free(second);
	q.cache = p.cache;
	start(&q);
	assert_ptr_not_equal(find(&q, 2 * BIAS + at), find(&p, BIAS + at));
	assert_int_equal(find(&q, 2 * BIAS + at)->start, 2 * BIAS + at);
	mt_image_free(p.image);
	p.image = NULL;
	p.cache = NULL;
	stop(&p);
	stop(&q);
}

/* A symbol from a separate debug file, found by the build-id. */
static void test_debug_file(void **state)
{
	struct process p = { 0 };
	char root[512] = "", file[600];
	uint64_t at;
	FILE *f;

	(void)state;
	f = lines("readelf -n %s | sed -n 's/.*Build ID: \\(..\\)\\(.*\\)/\\1 \\2/p'",
		  lib("lib.so"));
	assert_int_equal(fscanf(f, "%2s %511s", root, file), 2);
	pclose(f);
	at = address_of(lib("lib.so"), "hidden");
	if (shell("mkdir -p /usr/lib/debug/.build-id/%s 2>/dev/null", root))
		skip();
	assert_int_equal(shell("cd %s && objcopy --only-keep-debug lib.so "
			       "/usr/lib/debug/.build-id/%s/%s.debug && strip -o bare.so lib.so",
			       dir, root, file), 0);
	map_file(&p, lib("bare.so"), BIAS, NULL);
	start(&p);
	shell("rm /usr/lib/debug/.build-id/%s/%s.debug; cd /usr/lib && "
	      "rmdir -p --ignore-fail-on-non-empty debug/.build-id/%s", root, file, root);
	assert_string_equal(find(&p, BIAS + at)->name, "hidden");
	stop(&p);
}

/* Stripped: the unwinding tables still tell one function from the next. */
static void test_stripped(void **state)
{
	struct process p = { 0 };
	const struct mt_function *function;
	char name[64];
	uint64_t at;

	(void)state;
	assert_int_equal(shell("cd %s && strip -o bare.so lib.so", dir), 0);
	at = address_of(lib("lib.so"), "hidden");
	map_file(&p, lib("bare.so"), BIAS, NULL);
	start(&p);
	function = find(&p, BIAS + at + 3);
	snprintf(name, sizeof(name), "bare.so+0x%lx", (unsigned long)at);
	assert_string_equal(function->name, name);
	assert_int_equal(function->start, BIAS + at);
	assert_ptr_equal(find(&p, BIAS + at), function);
	/* with more names, the same */
	assert_string_equal(find(&p, BIAS + address_of(lib("lib.so"), "shown"))->name, "shown");
	assert_ptr_not_equal(find(&p, function->end), function);
	stop(&p);
}

/* Damage anywhere in the file: names may be lost, nothing else happens. */
static void test_damaged(void **state)
{
	unsigned int i, seed = 1;
	char *bytes;
	size_t len;
	FILE *f;

	(void)state;
	f = fopen(lib("lib.so"), "r");
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	bytes = malloc(len);
	assert_int_equal(fread(bytes, 1, len, f), len);
	fclose(f);
	for (i = 0; i < 200; i++) {
		struct process p = { .count = 1 };
		char *copy = malloc(len);
		unsigned int hits = 1 + rand_r(&seed) % 20;
		uint64_t addr;

		memcpy(copy, bytes, len);
		while (hits--) {
			/* headers and section headers are hit more than the rest */
			size_t at = (size_t)rand_r(&seed) % (rand_r(&seed) % 3 ? 0x200 : len);

			if (rand_r(&seed) % 3 == 0)
				at = len - 1 - at % 0x800;
			copy[at] = (char)rand_r(&seed);
		}
		f = fopen(lib("bad.so"), "w");
		assert_int_equal(fwrite(copy, 1, len, f), len);
		fclose(f);
		free(copy);
		p.maps[0] = (struct mt_map) { .start = BIAS + 0x1000, .end = BIAS + 0x2000,
					      .offset = 0x1000, .path = strdup(lib("bad.so")) };
		listen();
		start(&p);
		heard();
		for (addr = BIAS; addr < BIAS + 0x3000; addr += 13)
			find(&p, addr);
		stop(&p);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sizes_and_holes),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_internal_names),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_indirect_plt),
		cmocka_unit_test(test_static_plt),
		cmocka_unit_test(test_real_files),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_anonymous_image),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
