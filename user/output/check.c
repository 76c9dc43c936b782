// SPDX-License-Identifier: GPL-2.0
/*
 * Whether files can be made where outputs are to go: asked before anything is
 * recorded that could be lost for want of a place. Touches no file.
 */
#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/output/output.h"

#define LINKS_MAX	40	/* as Linux */

/* What an output is, by which two can be compared. */
struct place {
	dev_t dev;
	ino_t ino;		/* of the file, or of its folder if there is none */
	char *name;		/* in its folder; NULL: the file exists */
	bool shared;		/* a terminal, /dev/null: may be written to twice */
};

static char *folder_of(const char *path)
{
	char *copy = strdup(path), *folder = copy ? strdup(dirname(copy)) : NULL;

	free(copy);
	return folder;
}

/* *@path is a link to nothing: one step along it. */
static int follow(char **path)
{
	char target[4096], *folder = NULL, *next = NULL;
	ssize_t len = readlink(*path, target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	if (target[0] == '/') {
		next = strdup(target);
	} else {
		folder = folder_of(*path);
		if (folder && asprintf(&next, "%s/%s", folder, target) < 0)
			next = NULL;
	}
	free(folder);
	if (!next)
		return -ENOMEM;
	free(*path);
	*path = next;
	return 0;
}

int mt_output_resolve(const char *path, char **out)
{
	unsigned int links;
	struct stat st;
	char *at;
	int err;

	*out = realpath(path, NULL);
	if (*out)
		return 0;
	if (errno != ENOENT)
		return -errno;
	at = strdup(path);
	if (!at)
		return -ENOMEM;
	for (links = 0; !lstat(at, &st) && S_ISLNK(st.st_mode); links++) {
		err = links < LINKS_MAX ? follow(&at) : -ELOOP;
		if (err) {
			free(at);
			return err;
		}
	}
	*out = at;
	return 0;
}

/* Find out what @path is; an error is why nothing can be written there. */
static int find_place(const char *path, struct place *place)
{
	char *final = NULL, *folder = NULL, *name;
	struct stat st;
	int err;

	err = mt_output_resolve(path, &final);
	if (err)
		return err;
	err = -ENOMEM;
	folder = folder_of(final);
	if (!folder)
		goto out;
	if (stat(final, &st)) {
		err = errno == ENOENT ? 0 : -errno;
		name = strrchr(final, '/');
		if (!err)
			place->name = strdup(name ? name + 1 : final);
		if (!err && !place->name)
			err = -ENOMEM;
		if (!err && stat(folder, &st))
			err = -errno;
	} else if (S_ISDIR(st.st_mode)) {
		err = -EISDIR;
	} else {
		err = 0;
		place->shared = S_ISCHR(st.st_mode);
	}
	if (err)
		goto out;
	place->dev = st.st_dev;
	place->ino = st.st_ino;
	/* A regular file is replaced, all else is written to. */
	if (place->name || S_ISREG(st.st_mode))
		err = access(folder, W_OK | X_OK) ? -errno : 0;
	else
		err = access(final, W_OK) ? -errno : 0;
out:
	free(folder);
	free(final);
	return err;
}

static bool same_place(const struct place *a, const struct place *b)
{
	if (a->dev != b->dev || a->ino != b->ino || a->shared)
		return false;
	return a->name && b->name ? !strcmp(a->name, b->name) : !a->name && !b->name;
}

static int check_one(const char *const *paths, size_t index, struct place *places)
{
	size_t i;
	int err;

	err = mt_output_check_name(paths[index]);
	if (err)
		return err;
	err = find_place(paths[index], &places[index]);
	if (err) {
		mt_error("output '%s' cannot be written: %s", paths[index], strerror(-err));
		return err;
	}
	for (i = 0; i < index; i++) {
		if (!same_place(&places[i], &places[index]))
			continue;
		mt_error("outputs '%s' and '%s' are the same file", paths[i], paths[index]);
		return -EINVAL;
	}
	return 0;
}

int mt_output_check(const char *const *paths, size_t count)
{
	struct place *places = calloc(count + 1, sizeof(*places));
	size_t i;
	int err = 0;

	if (!places) {
		mt_error("out of memory");
		return -ENOMEM;
	}
	for (i = 0; !err && i < count; i++)
		err = check_one(paths, i, places);
	for (i = 0; i < count; i++)
		free(places[i].name);
	free(places);
	return err;
}
