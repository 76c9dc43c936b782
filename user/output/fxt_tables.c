// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table over the strings' slots. Slots are replaced in turn, except those
 * that the event under way has used: it may not refer to one that it replaces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/output/fxt_tables.h"

#define BUCKETS		65536	/* a power of two */

struct slot {
	char *text;
	uint32_t hash;
	uint16_t next;		/* in its bucket, 0: none */
	uint64_t event;		/* that used it last */
};

struct mt_fxt_strings {
	uint64_t event;
	unsigned int count;
	unsigned int oldest;
	uint16_t bucket[BUCKETS];
	struct slot slot[MT_FXT_STRINGS + 1];
};

static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261U;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 16777619U;
	return hash;
}

int mt_fxt_strings_new(struct mt_fxt_strings **out)
{
	*out = calloc(1, sizeof(**out));
	if (*out) {
		(*out)->oldest = 1;
		return 0;
	}
	mt_error("out of memory");
	return -ENOMEM;
}

void mt_fxt_strings_free(struct mt_fxt_strings *strings)
{
	unsigned int i;

	if (!strings)
		return;
	for (i = 1; i <= strings->count; i++)
		free(strings->slot[i].text);
	free(strings);
}

void mt_fxt_strings_event(struct mt_fxt_strings *strings)
{
	strings->event++;
}

static void unlink_slot(struct mt_fxt_strings *s, uint16_t index)
{
	uint16_t *link = &s->bucket[s->slot[index].hash % BUCKETS];

	while (*link != index)
		link = &s->slot[*link].next;
	*link = s->slot[index].next;
}

static uint16_t take_slot(struct mt_fxt_strings *s)
{
	uint16_t index;

	if (s->count < MT_FXT_STRINGS)
		return (uint16_t)++s->count;
	while (s->slot[s->oldest].event == s->event)
		s->oldest = s->oldest % MT_FXT_STRINGS + 1;
	index = (uint16_t)s->oldest;
	s->oldest = s->oldest % MT_FXT_STRINGS + 1;
	unlink_slot(s, index);
	free(s->slot[index].text);
	return index;
}

int mt_fxt_strings_find(struct mt_fxt_strings *s, const char *text, uint16_t *index,
			bool *is_new)
{
	uint32_t hash = hash_of(text);
	uint16_t i;
	char *copy;

	*is_new = false;
	*index = 0;
	if (!*text)
		return 0;
	for (i = s->bucket[hash % BUCKETS]; i; i = s->slot[i].next)
		if (s->slot[i].hash == hash && !strcmp(s->slot[i].text, text))
			break;
	if (!i) {
		copy = strdup(text);
		if (!copy) {
			mt_error("out of memory");
			return -ENOMEM;
		}
		i = take_slot(s);
		s->slot[i].text = copy;
		s->slot[i].hash = hash;
		s->slot[i].next = s->bucket[hash % BUCKETS];
		s->bucket[hash % BUCKETS] = i;
		*is_new = true;
	}
	s->slot[i].event = s->event;
	*index = i;
	return 0;
}

uint8_t mt_fxt_threads_find(struct mt_fxt_threads *threads, uint64_t pid, uint64_t tid,
			    bool *is_new)
{
	unsigned int i;

	*is_new = false;
	for (i = 0; i < threads->count; i++)
		if (threads->thread[i].pid == pid && threads->thread[i].tid == tid)
			return (uint8_t)(i + 1);
	if (threads->count < MT_FXT_THREADS) {
		i = threads->count++;
	} else {
		i = threads->next;
		threads->next = (threads->next + 1) % MT_FXT_THREADS;
	}
	threads->thread[i].pid = pid;
	threads->thread[i].tid = tid;
	*is_new = true;
	return (uint8_t)(i + 1);
}
