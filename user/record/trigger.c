// SPDX-License-Identifier: GPL-2.0
/*
 * A trigger; see the header.
 *
 * When the program has been exec'ed, only itself and its dynamic linker are
 * mapped. Libraries are learned of as debuggers do: the dynamic linker calls the
 * empty function _dl_debug_state() whenever it has mapped or unmapped some, at
 * start-up after all are in place and before any of their constructors runs, and
 * at dlopen() and dlclose() likewise. A breakpoint there costs nothing but one stop
 * a call. It stays when the symbol is found, while there is a register for it: what
 * has the symbol may be unloaded, and other code be mapped in its place.
 */
#include "user/record/trigger.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/record/breakpoint.h"
#include "user/record/ifunc.h"
#include "user/record/maps.h"
#include "user/record/symbol.h"

#define LINKER_HOOK		"_dl_debug_state"
#define MAGIC_TRACE_STOP	"magic_trace_stop_indicator"

/* A mapped object. */
struct object {
	uint64_t start;
	uint64_t dev;
	uint64_t inode;
};

struct function {
	uint64_t address;
	struct object object;	/* that has it */
};

struct mt_trigger {
	char *symbol;		/* NULL: none */
	struct mt_symbol_search search;
	MT_ARRAY(struct object) objects;	/* searched, and not to be searched again */
	struct function functions[MT_BREAKPOINTS];
	size_t nr_functions;
	uint64_t watch;		/* where the dynamic linker tells of libraries, or 0 */
	bool watch_is_entry;	/* it is the program's entry: once, and for want of better */
	bool in_program;	/* found in the program itself, which hides libraries' */
	bool started;		/* the libraries of the start are in place */
	bool disarmed;
	bool told_many;
	bool told_unresolved;
};

int mt_trigger_check(const char *symbol)
{
	if (symbol && (!*symbol || !strcmp(symbol, "symbol:") || !strcmp(symbol, "?") ||
		       !strcmp(symbol, "symbol:?"))) {
		mt_error("--trigger needs the name of a function");
		return -EINVAL;
	}
	return 0;
}

int mt_trigger_new(const char *symbol, struct mt_trigger **out)
{
	struct mt_trigger *trigger;
	int err = mt_trigger_check(symbol);

	if (err)
		return err;
	if (symbol && !strncmp(symbol, "symbol:", 7))
		symbol += 7;
	else if (symbol && !strcmp(symbol, "."))
		symbol = MAGIC_TRACE_STOP;
	trigger = calloc(1, sizeof(*trigger));
	if (!trigger || (symbol && !(trigger->symbol = strdup(symbol)))) {
		free(trigger);
		mt_error("out of memory");
		return -ENOMEM;
	}
	trigger->search.name = trigger->symbol;
	*out = trigger;
	return 0;
}

void mt_trigger_free(struct mt_trigger *trigger)
{
	if (!trigger)
		return;
	mt_symbol_search_free(&trigger->search);
	mt_array_free(&trigger->objects);
	free(trigger->symbol);
	free(trigger);
}

const char *mt_trigger_symbol(const struct mt_trigger *trigger)
{
	return trigger->symbol;
}

/* ---- finding it ---- */

static bool was_searched(const struct mt_trigger *trigger, const struct mt_mapping *map)
{
	for (size_t i = 0; i < trigger->objects.count; i++) {
		const struct object *object = &trigger->objects.data[i];

		if (object->start == map->start && object->dev == map->dev &&
		    object->inode == map->inode)
			return true;
	}
	return false;
}

static bool is_mapped(const mt_mappings *maps, const struct object *object)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct mt_mapping *map = &maps->data[i];

		if (map->dev == object->dev && map->inode == object->inode &&
		    object->start >= map->start && object->start < map->end)
			return true;
	}
	return false;
}

/* Forget what was found in objects that are no longer mapped. */
static void drop_unmapped(struct mt_trigger *trigger, const mt_mappings *maps)
{
	size_t functions = 0, objects = 0;

	for (size_t i = 0; i < trigger->nr_functions; i++) {
		if (is_mapped(maps, &trigger->functions[i].object))
			trigger->functions[functions++] = trigger->functions[i];
	}
	for (size_t i = 0; i < trigger->objects.count; i++) {
		if (is_mapped(maps, &trigger->objects.data[i]))
			trigger->objects.data[objects++] = trigger->objects.data[i];
	}
	trigger->objects.count = objects;
	/* There is room now for one that had to be passed over. */
	if (trigger->told_many && functions < trigger->nr_functions)
		trigger->objects.count = 0;
	trigger->nr_functions = functions;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_function(struct mt_trigger *trigger, uint64_t address,
			 const struct mt_mapping *map)
{
	if (trigger->nr_functions == MT_BREAKPOINTS) {
		if (!trigger->told_many)
			mt_warn("there are more functions named '%s' than the processor can "
				"watch: only the first %d are", trigger->symbol, MT_BREAKPOINTS);
		trigger->told_many = true;
		return;
	}
	trigger->functions[trigger->nr_functions++] = (struct function){
		address, { map->start, map->dev, map->inode }
	};
	if (trigger->nr_functions > 1)
		mt_info("trigger '%s': also watching another function of that name, in %s",
			trigger->symbol, base_name(map->path));
}

/*
 * The address to wait at for one place that was found. One that is chosen at run
 * time is asked for where that can be done: while the thread is at @hook, a
 * function's entry. Returns 0; -EAGAIN if it cannot be told now or ever, which has
 * been said if it is ever; -errno.
 */
static int resolve(struct mt_trigger *trigger, pid_t tid, const struct mt_symbol_place *place,
		   const char *path, uint64_t hook, uint64_t *address)
{
	int err;

	*address = place->address;
	if (!place->ifunc)
		return 0;
	if (!hook)
		return -EAGAIN;
	err = mt_ifunc_resolve(tid, hook, place->address, address);
	if (err != -ENXIO)
		return err;
	if (!trigger->told_unresolved)
		mt_warn("trigger '%s' in %s is chosen at run time, and which function it is could "
			"not be found out", trigger->symbol, base_name(path));
	trigger->told_unresolved = true;
	return -EAGAIN;
}

/* Take over the places that were found in @map. */
static int take_places(struct mt_trigger *trigger, pid_t tid, const struct mt_mapping *map,
		       uint64_t hook)
{
	for (size_t i = 0; i < trigger->search.places.count; i++) {
		uint64_t address;
		bool known = false;
		int err;

		err = resolve(trigger, tid, &trigger->search.places.data[i], map->path, hook,
			      &address);
		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		for (size_t j = 0; j < trigger->nr_functions; j++)
			known |= trigger->functions[j].address == address;
		if (!known)
			add_function(trigger, address, map);
	}
	return 0;
}

/* The mapping that holds the program's entry, and so is of its own file; or NULL. */
static const struct mt_mapping *find_program(pid_t tid, const mt_mappings *maps)
{
	uint64_t entry = mt_auxv(tid, AT_ENTRY);

	for (size_t i = 0; i < maps->count; i++) {
		if (entry >= maps->data[i].start && entry < maps->data[i].end)
			return &maps->data[i];
	}
	return NULL;
}

/* True if an indirect function was found while none could be resolved. */
static bool search_is_open(const struct mt_trigger *trigger, uint64_t hook)
{
	for (size_t i = 0; i < trigger->search.places.count; i++) {
		if (trigger->search.places.data[i].ifunc && !hook)
			return true;
	}
	return false;
}

/* Search the object of mapping @index, if it is one and was not searched yet. */
static int search_object(struct mt_trigger *trigger, pid_t tid, const mt_mappings *maps,
			 size_t index, uint64_t hook)
{
	const struct mt_mapping *map = &maps->data[index];
	struct object object = { map->start, map->dev, map->inode };
	int err;

	if (!map->inode || was_searched(trigger, map))
		return 0;
	mt_symbol_search_reset(&trigger->search);
	err = mt_symbol_search_object(&trigger->search, tid, maps, index);
	if (err == -ENOENT)	/* not an object, or not to be read: so be it */
		err = 0;
	if (!err)
		err = take_places(trigger, tid, map, hook);
	/* One that cannot be resolved before start-up is looked at again after it. */
	if (!err && !search_is_open(trigger, hook))
		err = mt_array_push(&trigger->objects, object);
	return err;
}

/*
 * Forget the objects that are gone, and search those that are mapped and were not
 * searched yet, the program's own first: its function hides those of the same name
 * in libraries. The thread is at the breakpoint of @hook, if that is not 0.
 */
static int search_new(struct mt_trigger *trigger, pid_t tid, uint64_t hook)
{
	const struct mt_mapping *program;
	mt_mappings maps = { 0 };
	int err = mt_mappings_read(tid, &maps);

	if (err == -ESRCH)
		return err;
	if (err) {
		mt_error("the program's memory map cannot be read: %s", strerror(-err));
		return err;
	}
	drop_unmapped(trigger, &maps);
	program = find_program(tid, &maps);
	for (int own = 1; own >= 0; own--) {
		size_t before = trigger->nr_functions;

		for (size_t i = 0; i < maps.count && !err && !trigger->in_program; i++) {
			const struct mt_mapping *map = &maps.data[i];

			if (own == (program && map->dev == program->dev &&
				    map->inode == program->inode))
				err = search_object(trigger, tid, &maps, i, hook);
		}
		if (own && trigger->nr_functions > before)
			trigger->in_program = true;
	}
	mt_mappings_free(&maps);
	if (err && err != -ESRCH)
		mt_error("the trigger '%s' cannot be looked for: %s", trigger->symbol,
			 strerror(-err));
	return err;
}

/* Find where the dynamic linker tells of libraries; 0 in a static program. */
static uint64_t find_linker_hook(pid_t tid)
{
	struct mt_symbol_search search = { .name = LINKER_HOOK };
	uint64_t base = mt_auxv(tid, AT_BASE), hook = 0;
	mt_mappings maps = { 0 };

	if (!base || mt_mappings_read(tid, &maps))
		return 0;
	for (size_t i = 0; i < maps.count && !hook; i++) {
		/* The first mapping above the base that holds code is the linker's. */
		if (maps.data[i].start < base || !maps.data[i].inode)
			continue;
		if (!mt_symbol_search_object(&search, tid, &maps, i) && search.places.count)
			hook = search.places.data[0].address;
		break;
	}
	mt_symbol_search_free(&search);
	mt_mappings_free(&maps);
	return hook;
}

/* What is known for certain of a name that is nowhere. */
static void print_near(const struct mt_trigger *trigger, char *line, size_t len)
{
	size_t used = 0;

	line[0] = '\0';
	for (size_t i = 0; i < MT_SYMBOL_NEAR && trigger->search.near[i]; i++) {
		used += snprintf(line + used, len - used, "%s%s", i ? ", " : "; names like it: ",
				 trigger->search.near[i]);
		if (used >= len)
			break;
	}
}

static void tell_pending(struct mt_trigger *trigger)
{
	char near[512];

	print_near(trigger, near, sizeof(near));
	if (trigger->search.places.count && !trigger->watch) {
		trigger->told_unresolved = true;
		mt_warn("trigger '%s' is chosen at run time, and which function it is cannot be "
			"found out in a static program", trigger->symbol);
	} else if (trigger->search.data)
		mt_warn("trigger '%s' is the name of a variable, and only functions can be waited "
			"for%s", trigger->symbol, near);
	else if (trigger->watch)
		mt_info("trigger '%s' is in nothing that is loaded yet: waiting for a library that "
			"has it%s", trigger->symbol, near);
	else
		mt_warn("the program has no function '%s'%s", trigger->symbol, near);
}

/* The breakpoints that are wanted now; returns how many. */
static size_t list_wanted(const struct mt_trigger *trigger, uint64_t wanted[MT_BREAKPOINTS])
{
	bool waiting = !trigger->started && !trigger->in_program;
	size_t count = 0;

	if (trigger->disarmed)
		return 0;
	for (; count < trigger->nr_functions; count++)
		wanted[count] = trigger->functions[count].address;
	/* While libraries are waited for, that is worth more than a fourth function. */
	if (trigger->watch && count == MT_BREAKPOINTS && waiting)
		count--;
	if (trigger->watch && count < MT_BREAKPOINTS)
		wanted[count++] = trigger->watch;
	return count;
}

int mt_trigger_exec(struct mt_trigger *trigger, pid_t tid)
{
	int err = 0;

	if (trigger->disarmed)
		return 0;
	trigger->objects.count = 0;
	trigger->nr_functions = 0;
	trigger->watch = 0;
	trigger->watch_is_entry = false;
	trigger->in_program = false;
	trigger->started = false;
	if (trigger->symbol)
		err = search_new(trigger, tid, 0);
	if (err)
		return err;
	/* What the linker has is no reason not to wait: a library's would be used instead. */
	if (mt_auxv(tid, AT_BASE)) {
		trigger->watch = find_linker_hook(tid);
		trigger->watch_is_entry = !trigger->watch;
		if (!trigger->watch)
			trigger->watch = mt_auxv(tid, AT_ENTRY);
	}
	if (trigger->symbol && !trigger->watch && !trigger->nr_functions)
		tell_pending(trigger);
	return 0;
}

/* The dynamic linker has told of a change, or is about to make one. */
static int loaded(struct mt_trigger *trigger, pid_t tid)
{
	uint64_t before[MT_BREAKPOINTS] = { 0 }, after[MT_BREAKPOINTS] = { 0 };
	size_t nr_before = list_wanted(trigger, before);
	bool first = !trigger->started;
	int err = trigger->symbol ? search_new(trigger, tid, trigger->watch) : 0;

	if (err)
		return err;
	/* The linker calls once before it has mapped anything, and then with all. */
	if (trigger->watch_is_entry || trigger->objects.count > 2)
		trigger->started = true;
	if (trigger->watch_is_entry)
		trigger->watch = 0;
	if (trigger->symbol && first && trigger->started && !trigger->nr_functions)
		tell_pending(trigger);
	if (list_wanted(trigger, after) == nr_before && !memcmp(before, after, sizeof(after)))
		return MT_TRIGGER_LIBRARIES;
	return MT_TRIGGER_LOADED;
}

/* ---- being hit ---- */

int mt_trigger_trap(struct mt_trigger *trigger, pid_t tid, const siginfo_t *info,
		    uint64_t *address)
{
	if (!mt_breakpoint_hit(tid, info, address))
		return MT_TRIGGER_NONE;
	/* A thread that has not been synced since the breakpoints changed. */
	if (trigger->disarmed)
		return MT_TRIGGER_IGNORE;
	for (size_t i = 0; i < trigger->nr_functions; i++) {
		if (trigger->functions[i].address == *address)
			return MT_TRIGGER_HIT;
	}
	if (trigger->watch && *address == trigger->watch)
		return loaded(trigger, tid);
	return MT_TRIGGER_IGNORE;
}

int mt_trigger_sync(struct mt_trigger *trigger, pid_t tid)
{
	uint64_t addresses[MT_BREAKPOINTS];
	size_t count = list_wanted(trigger, addresses);
	int err = mt_breakpoints_set(tid, addresses, count);

	/* Where the symbol is known, or none is wanted, libraries can do without. */
	if (err && err != -ESRCH && trigger->watch && (!trigger->symbol || trigger->in_program)) {
		trigger->watch = 0;
		count = list_wanted(trigger, addresses);
		err = mt_breakpoints_set(tid, addresses, count);
		if (!count)
			err = 0;
	}
	if (err && err != -ESRCH)
		mt_error("the breakpoint of trigger '%s' cannot be set in thread %d: %s%s",
			 trigger->symbol ? trigger->symbol : "", tid, strerror(-err),
			 err == -ENOSPC ? "; are the debug registers in use by perf?" : "");
	return err;
}

void mt_trigger_disarm(struct mt_trigger *trigger)
{
	trigger->disarmed = true;
}

void mt_trigger_report_never(const struct mt_trigger *trigger)
{
	char near[512];

	print_near(trigger, near, sizeof(near));
	if (trigger->nr_functions)
		mt_warn("trigger '%s' never fired: the function was not called", trigger->symbol);
	else if (trigger->told_unresolved)
		mt_warn("trigger '%s' never fired: which function it is was not found out",
			trigger->symbol);
	else if (trigger->search.data)
		mt_warn("trigger '%s' never fired: it is the name of a variable, not of a function",
			trigger->symbol);
	else
		mt_warn("trigger '%s' never fired: neither the program nor any library that it "
			"loaded has a function of that name%s", trigger->symbol, near);
}
