/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strict reading and plain writing of a recording's JSON files, over json-c.
 * Knows the kinds of value, not what they mean.
 *
 * A number of 64 bits that a reader in another language could lose bits of (an
 * address, a time, a register) is written as a string "0x..."; sizes and counts
 * are plain numbers. Reading takes either. Strings are bytes, as paths are.
 */
#ifndef MTRACE_RECORDING_JSON_H
#define MTRACE_RECORDING_JSON_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A file that is being read: the getters below take it, and after the first
 * failure each does nothing, so that a whole object is read without a check
 * on every line. The failure has been told by mt_error() or mt_warn().
 */
struct mt_json_reader {
	const char *path;	/* for messages */
	int damaged;		/* say mt_warn(): the caller goes on without it */
	int err;		/* 0, or -errno of the first failure */
};

/*
 * Read the file @name below @dirfd; its full name is @reader->path. Returns the
 * object, to be freed with json_object_put(), or NULL with @reader->err set.
 */
struct json_object *mt_json_load(struct mt_json_reader *reader, int dirfd, const char *name);

/* Note that @what is wrong with the file, once. */
void mt_json_fail(struct mt_json_reader *reader, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The value of @key in @object, which must be there and of its kind. Strings are
 * copies owned by the caller. A failure gives 0 or NULL.
 */
uint64_t mt_json_u64(struct mt_json_reader *reader, struct json_object *object, const char *key);
uint32_t mt_json_u32(struct mt_json_reader *reader, struct json_object *object, const char *key);
pid_t mt_json_pid(struct mt_json_reader *reader, struct json_object *object, const char *key);
char *mt_json_string(struct mt_json_reader *reader, struct json_object *object, const char *key);

/* Likewise, but NULL where @key is missing or null. */
char *mt_json_optional_string(struct mt_json_reader *reader, struct json_object *object,
			      const char *key);

/* A copy of the string @value, an element of array @key. */
char *mt_json_element_string(struct mt_json_reader *reader, struct json_object *value,
			     const char *key);

struct json_object *mt_json_object(struct mt_json_reader *reader, struct json_object *object,
				   const char *key);

/* The array @key, of *@count elements. */
struct json_object *mt_json_array(struct mt_json_reader *reader, struct json_object *object,
				  const char *key, size_t *count);

/* Element @index of array @key, which must be an object. */
struct json_object *mt_json_element(struct mt_json_reader *reader, struct json_object *array,
				    size_t index, const char *key);

/*
 * The string @key as the name of a file in a folder that is known: anything that
 * could name a file elsewhere is refused. NULL where it is missing and @optional.
 */
char *mt_json_file_name(struct mt_json_reader *reader, struct json_object *object,
			const char *key, int optional);

/* Writing: each returns 0 or -ENOMEM; @value is taken over even then. */
int mt_json_add(struct json_object *object, const char *key, struct json_object *value);
int mt_json_add_hex(struct json_object *object, const char *key, uint64_t value);
int mt_json_add_number(struct json_object *object, const char *key, uint64_t value);
int mt_json_add_string(struct json_object *object, const char *key, const char *value);

/*
 * Put @object as the file @name below @dirfd in place as a whole or not at all;
 * its full name is @path. Returns 0 or -errno after a message.
 */
int mt_json_store(struct json_object *object, int dirfd, const char *name, const char *path);

#endif /* MTRACE_RECORDING_JSON_H */
