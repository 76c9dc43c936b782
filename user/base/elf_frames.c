// SPDX-License-Identifier: GPL-2.0
/*
 * Where functions begin and end, by .eh_frame: it is in stripped files too, since
 * unwinding needs it. Linux Standard Base, "Exception Frames".
 */
#include <errno.h>
#include <string.h>

#include "user/base/elf_private.h"

/* LSB, "DWARF Exception Header Encoding" */
#define PE_FORMAT	0x0f
#define PE_ABSPTR	0x00
#define PE_UDATA2	0x02
#define PE_UDATA4	0x03
#define PE_UDATA8	0x04
#define PE_SDATA2	0x0a
#define PE_SDATA4	0x0b
#define PE_SDATA8	0x0c
#define PE_RELATION	0x70
#define PE_PCREL	0x10
#define PE_OMIT		0xff

/* Some bytes of the section; what goes beyond them makes @bad. */
struct cursor {
	const unsigned char *bytes;
	size_t pos;
	size_t end;
	bool bad;
};

static uint64_t take(struct cursor *c, size_t size)
{
	uint64_t value = 0;

	if (c->bad || c->end - c->pos < size) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->bytes + c->pos, size);
	c->pos += size;
	return value;
}

static uint64_t take_leb(struct cursor *c)
{
	unsigned int shift = 0;
	uint64_t value = 0, byte;

	do {
		byte = take(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

/* A pointer; @address is that of the cursor's first byte. */
static uint64_t take_pointer(struct cursor *c, unsigned int encoding, uint64_t address, bool is32)
{
	uint64_t base = 0, value;

	if ((encoding & PE_RELATION) == PE_PCREL)
		base = address + c->pos;
	else if (encoding & PE_RELATION)
		c->bad = true;
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
		value = take(c, is32 ? 4 : 8);
		break;
	case PE_UDATA2:
		value = take(c, 2);
		break;
	case PE_UDATA4:
		value = take(c, 4);
		break;
	case PE_UDATA8:
	case PE_SDATA8:
		value = take(c, 8);
		break;
	case PE_SDATA2:
		value = (uint64_t)(int64_t)(int16_t)take(c, 2);
		break;
	case PE_SDATA4:
		value = (uint64_t)(int64_t)(int32_t)take(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	value += base;
	return is32 ? (uint32_t)value : value;
}

/* The encoding of pointers in the FDEs of the CIE at @c, which is behind its id. */
static unsigned int cie_encoding(struct cursor c, bool is32)
{
	unsigned int version = (unsigned int)take(&c, 1), encoding;
	const char *augmentation = (const char *)c.bytes + c.pos;

	while (take(&c, 1))
		;
	if (c.bad || augmentation[0] != 'z')
		return c.bad || augmentation[0] ? PE_OMIT : PE_ABSPTR;
	take_leb(&c);			/* code alignment */
	take_leb(&c);			/* data alignment */
	if (version == 1)
		take(&c, 1);		/* return address register */
	else
		take_leb(&c);
	take_leb(&c);			/* length of what follows */
	for (augmentation++; *augmentation && !c.bad; augmentation++) {
		switch (*augmentation) {
		case 'R':
			encoding = (unsigned int)take(&c, 1);
			return c.bad ? PE_OMIT : encoding;
		case 'L':
			take(&c, 1);
			break;
		case 'P':
			/* its value does not matter, only its size */
			encoding = (unsigned int)take(&c, 1) & PE_FORMAT;
			take_pointer(&c, encoding, 0, is32);
			break;
		case 'S':
		case 'B':
			break;
		default:
			return PE_OMIT;
		}
	}
	return c.bad ? PE_OMIT : PE_ABSPTR;
}

static int read_frames(const struct mt_elf *elf, const struct cursor *whole, uint64_t address,
		       mt_elf_frame_fn fn, void *ctx)
{
	bool is32 = mt_elf_is_32bit(elf);
	struct cursor c = *whole;
	size_t last_cie = SIZE_MAX;
	unsigned int encoding = PE_OMIT;

	while (c.pos < whole->end) {
		uint64_t length = take(&c, 4), id, start, size;
		size_t id_pos = c.pos, next;
		int err;

		/* 0 ends it; all ones are a 64-bit length, which no compiler makes */
		if (c.bad || !length || length == UINT32_MAX || length > whole->end - c.pos)
			break;
		next = c.pos + length;
		c.end = next;
		id = take(&c, 4);
		if (id && id <= id_pos && !c.bad) {
			if (id_pos - id != last_cie) {
				struct cursor cie = *whole;

				last_cie = id_pos - id;
				cie.pos = last_cie;
				take(&cie, 8);
				encoding = cie_encoding(cie, is32);
			}
			start = take_pointer(&c, encoding, address, is32);
			size = take_pointer(&c, encoding & PE_FORMAT, 0, is32);
			if (!c.bad && encoding != PE_OMIT && size) {
				err = fn(ctx, start, size);
				if (err)
					return err;
			}
		}
		c.pos = next;
		c.end = whole->end;
		c.bad = false;
	}
	return 0;
}

int mt_elf_frames(const struct mt_elf *elf, mt_elf_frame_fn fn, void *ctx)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf->elf, &names))
		return 0;
	while ((scn = elf_nextscn(elf->elf, scn))) {
		const char *name;
		Elf_Data *data;
		GElf_Shdr sh;
		struct cursor whole = { 0 };
		int err;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf->elf, names, sh.sh_name);
		if (!name || strcmp(name, ".eh_frame") != 0)
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		whole.bytes = data->d_buf;
		whole.end = data->d_size;
		err = read_frames(elf, &whole, sh.sh_addr, fn, ctx);
		if (err)
			return err;
	}
	return 0;
}
