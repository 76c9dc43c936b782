# SPDX-License-Identifier: GPL-2.0
#
# mtrace: the tool, the module, the tests. `make help` lists the targets.
# Everything that is built goes below $(BUILD); Kbuild is for the kernel's own
# build system.

# The version stands in dkms.conf alone.
VERSION	:= $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)

BUILD	?= build
PREFIX	?= /usr/local
DESTDIR	?=
KERNEL	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KERNEL)/build

ifeq ($(origin CC),default)
CC	:= gcc
endif
CFLAGS	?= -O2 -g
# Where the distribution keeps libnl's headers, if pkg-config does not know.
NL_CFLAGS := $(or $(shell pkg-config --cflags libnl-genl-3.0 2>/dev/null),-I/usr/include/libnl3)
MT_CFLAGS := -std=gnu11 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	     -Wmissing-prototypes -D_GNU_SOURCE -DMTRACE_VERSION='"$(VERSION)"' \
	     -I. -Iinclude/uapi $(NL_CFLAGS)
LDLIBS	:= -lipt -ljson-c -lelf -lz -lnl-genl-3 -lnl-3

TOOL	:= $(BUILD)/mtrace-user
SOURCES	:= $(wildcard user/*/*.c)
OBJECTS	:= $(SOURCES:%.c=$(BUILD)/%.o)
# All but main(), which is what a unit test links.
LIBRARY	:= $(BUILD)/libmtrace.a
MAIN	:= $(BUILD)/user/cmd/main.o

# make V=1 shows the commands.
Q	:= $(if $(V),,@)
say	= @$(if $(V),:,printf '  %-7s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@))

# tests/unit/machine tests the PT machine, not the tool: it has its own Makefile.
UNIT	:= $(filter-out tests/unit/machine/%,$(wildcard tests/unit/*/test_*.c))
UNIT_BIN := $(UNIT:tests/unit/%.c=$(BUILD)/unit/%)

# make bench, make bench machine decode, or make bench BENCH="machine decode"
BENCH_AREAS := machine switch extract decode view
GOALS	:= all help tool module install uninstall dkms-install dkms-uninstall demo check check-matrix \
	   check-debug debug-kernel check-hardware bench unit tests packages flags clean
# What is neither a goal nor an area is for the bench to refuse, before it measures.
BENCH	?= $(filter-out $(GOALS),$(MAKECMDGOALS))

.PHONY: $(GOALS) $(if $(filter bench,$(MAKECMDGOALS)),$(BENCH_AREAS))
.DELETE_ON_ERROR:

all: tool
	@if [ -d "$(KDIR)" ]; then \
		$(MAKE) --no-print-directory module; \
	else \
		echo "no kernel headers in $(KDIR): the module is not built" \
		     "(install linux-headers-$(KERNEL), or name another KDIR=)"; \
	fi

help:
	@echo 'make               the tool, and the module where kernel headers are'
	@echo 'make tool          build/mtrace-user'
	@echo 'make module        build/mtrace.ko for KERNEL= (default: the running one)'
	@echo 'make demo          record a program in the PT machine and show its trace'
	@echo 'make check         build all, run all tests'
	@echo 'make check-matrix  the tests of the module on each kernel, number of CPUs and model (takes an hour)'
	@echo 'make debug-kernel  the kernel that finds faults, for check-debug (takes a quarter of an hour, once)'
	@echo 'make check-debug   the tests of the module on that kernel, and a million calls by chance'
	@echo 'make check-hardware  the tests of the module on this machine, which has Intel PT'
	@echo 'make bench [AREA]  measure, a line a figure; AREA: $(BENCH_AREAS)'
	@echo 'make unit          the unit tests alone'
	@echo 'make install       the tool to DESTDIR/PREFIX (default /usr/local), and who may use the device'
	@echo 'make dkms-install  the module by DKMS, for this and every later kernel'
	@echo 'make uninstall, make dkms-uninstall   remove that'
	@echo 'make clean         remove what was built (the fetched machine is kept in the cache)'

tool: $(TOOL)

$(TOOL): $(MAIN) $(LIBRARY)
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Made anew, so that an object whose source is gone is not kept in it.
$(LIBRARY): $(filter-out $(MAIN),$(OBJECTS))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/user/%.o: user/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(MT_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# kbuild leaves its files beside the sources, so it is given a copy of them.
module:
	tests/machine/build-module --quiet --kdir $(KDIR) --output $(BUILD)/mtrace.ko

$(BUILD)/unit/%: tests/unit/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(MT_CFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(LIBRARY) $(LDLIBS) -lcmocka

unit: $(UNIT_BIN)
	tests/run-unit $(BUILD)/unit

tests: tool $(UNIT_BIN)

# For tests/suite/lint.
flags:
	@: $(info $(MT_CFLAGS))

packages:
	.ci/install-packages build machine check judge

demo:
	.ci/install-packages build machine
	$(MAKE) --no-print-directory tool
	tests/demo

check: packages
	tests/check

check-matrix: packages
	tests/kernel/check --matrix

debug-kernel:
	.ci/install-packages build machine debug
	tests/machine/fetch kernel debug

check-debug: debug-kernel
	tests/kernel/check --debug
	tests/fuzz/check --calls 1000000 debug

# Not in the emulated machine, but on this one.
check-hardware:
	@tests/check-hardware

# udev and systemd look below /usr and /usr/local, wherever the rest goes.
SYSTEM_LIB ?= $(if $(filter /usr /usr/local,$(PREFIX)),$(PREFIX),/usr/local)/lib

install: tool
	install -D -m 755 $(TOOL) $(DESTDIR)$(PREFIX)/bin/mtrace-user
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/mtrace README.md docs/FORMAT.md
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/linux include/uapi/linux/*.h
	install -D -m 644 -t $(DESTDIR)$(SYSTEM_LIB)/udev/rules.d kmod/90-mtrace.rules
	install -D -m 644 kmod/mtrace.sysusers $(DESTDIR)$(SYSTEM_LIB)/sysusers.d/mtrace.conf
	$(if $(DESTDIR),,-$(announce))

# The group must be there when udev reads the rule.
announce = { systemd-sysusers $(SYSTEM_LIB)/sysusers.d/mtrace.conf || groupadd -r -f mtrace; } && \
	if command -v udevadm >/dev/null; then udevadm control --reload && udevadm trigger --sysname-match=mtrace; fi

# By itself udev looks every few seconds whether rules have gone.
forget = if command -v udevadm >/dev/null; then udevadm control --reload; fi

# The group stays: files may belong to it.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/mtrace-user
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/mtrace
	rm -f $(patsubst include/uapi/%,$(DESTDIR)$(PREFIX)/include/%,$(wildcard include/uapi/linux/*.h))
	rm -f $(DESTDIR)$(SYSTEM_LIB)/udev/rules.d/90-mtrace.rules
	rm -f $(DESTDIR)$(SYSTEM_LIB)/sysusers.d/mtrace.conf
	$(if $(DESTDIR),,-$(forget))

bench: packages
	@tests/bench/bench $(BENCH)

# Else they are no targets of their own.
ifneq ($(filter bench,$(MAKECMDGOALS)),)
$(BENCH_AREAS): bench
	@:
endif

# What other kernels have from DKMS stays as it is; a failure leaves all as it was.
# DKMS_FLAGS are for a tree that is not the system's: --dkmstree, --installtree.
DKMS_SRC ?= /usr/src/mtrace-$(VERSION)
DKMS	?= dkms
DKMS_FLAGS ?=
dkms-install:
	@command -v $(DKMS) >/dev/null || { \
		echo "dkms is not installed: apt-get install dkms linux-headers-$(KERNEL)" >&2; exit 1; }
	@[ -f "$(KDIR)/Makefile" ] || { \
		echo "no kernel headers in $(KDIR): apt-get install linux-headers-$(KERNEL)," \
		     "or name another KERNEL=" >&2; exit 1; }
	install -D -m 644 -t $(DKMS_SRC) Kbuild LICENSE dkms.conf
	install -D -m 644 -t $(DKMS_SRC)/kmod kmod/*.[ch]
	install -D -m 644 -t $(DKMS_SRC)/include/uapi/linux include/uapi/linux/*.h
	$(DKMS) status $(DKMS_FLAGS) -m mtrace -v $(VERSION) | grep -q . || $(DKMS) add $(DKMS_FLAGS) mtrace/$(VERSION)
	$(DKMS) build $(DKMS_FLAGS) --force mtrace/$(VERSION) -k $(KERNEL)
	$(DKMS) install $(DKMS_FLAGS) --force mtrace/$(VERSION) -k $(KERNEL)

dkms-uninstall:
	$(DKMS) remove $(DKMS_FLAGS) mtrace/$(VERSION) --all
	rm -rf $(DKMS_SRC)

clean:
	rm -rf $(BUILD)

-include $(OBJECTS:.o=.d)
-include $(UNIT_BIN:=.d)
