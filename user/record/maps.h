/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The executable mappings of a live process, from /proc, and the files behind
 * them. Knows nothing of what they are wanted for.
 */
#ifndef MTRACE_RECORD_MAPS_H
#define MTRACE_RECORD_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/array.h"

struct mt_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	/* of start in the file */
	uint64_t dev;		/* as st_dev */
	uint64_t inode;		/* 0: no file */
	char *path;		/* "" where it has no name */
};

typedef MT_ARRAY(struct mt_mapping) mt_mappings;

/*
 * Read the executable mappings of thread @tid's process into *@maps, which is
 * freed first. Returns 0; -ESRCH if the process is gone or has no memory left;
 * -errno. No message.
 */
int mt_mappings_read(pid_t tid, mt_mappings *maps);
void mt_mappings_free(mt_mappings *maps);

/*
 * Read one line of /proc/PID/maps. Returns 1 with *@mapping filled, 0 if the
 * mapping is not executable, -EINVAL if it is no such line, -ENOMEM.
 */
int mt_mapping_parse(char *line, struct mt_mapping *mapping);

#define MT_MAPPING_PATH_LEN	4200

/*
 * A path by which the mapped file itself can be opened now, whatever has become
 * of its name since, into @path of MT_MAPPING_PATH_LEN bytes: by
 * /proc/PID/map_files, else by its name as the process sees it. Returns 0 or
 * -ENOENT.
 */
int mt_mapping_file(pid_t tid, const struct mt_mapping *mapping, char *path);

/* True if the name of the mapping still leads to the mapped file, from here. */
bool mt_mapping_has_file(pid_t tid, const struct mt_mapping *mapping);

/* Read bytes of a process's memory. Returns how many from the start could be, or -errno. */
ssize_t mt_memory_read(pid_t tid, uint64_t address, void *bytes, size_t len);

/* The value of @type in a process's auxiliary vector; 0 where it has none. */
uint64_t mt_auxv(pid_t tid, uint64_t type);

#endif /* MTRACE_RECORD_MAPS_H */
