// SPDX-License-Identifier: BSD-2-Clause
#include "ctfmetadata.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* CTF 1.8.3, 7.1: the header of a packet of metadata. */
#define MAGIC       0x75d11d57u
#define HEADER_SIZE 37
#define CONTENT_AT  24 /* content_size, packet_size: in bits */

static uint32_t swap_if(bool other, uint32_t v)
{
	return other ? __builtin_bswap32(v) : v;
}

/* Step over the packet at *at; false: it is none, or not whole. */
static bool skip_packet(FILE *in, uint64_t *at, uint64_t size)
{
	uint32_t magic, sizes[2];
	uint8_t header[HEADER_SIZE];
	bool other;

	if (fseeko(in, (off_t)*at, SEEK_SET) ||
	    fread(header, sizeof(header), 1, in) != 1)
		return false;
	memcpy(&magic, header, sizeof(magic));
	memcpy(sizes, header + CONTENT_AT, sizeof(sizes));
	other = magic == __builtin_bswap32(MAGIC);
	sizes[0] = swap_if(other, sizes[0]);
	sizes[1] = swap_if(other, sizes[1]);
	if ((magic != MAGIC && !other) || sizes[0] % 8 || sizes[1] % 8 ||
	    sizes[0] / 8 < HEADER_SIZE || sizes[0] > sizes[1] ||
	    sizes[1] / 8 > size - *at)
		return false;
	*at += sizes[1] / 8;
	return true;
}

static bool check(FILE *in, uint64_t size)
{
	uint32_t magic;
	uint64_t at = 0;

	/* Plain text has no packets. */
	if (fread(&magic, sizeof(magic), 1, in) != 1 ||
	    (magic != MAGIC && magic != __builtin_bswap32(MAGIC)))
		return true;
	while (at < size)
		if (!skip_packet(in, &at, size))
			return false;
	return true;
}

bool ctf_metadata_check(const char *folder, const char *name, char *why,
			size_t size)
{
	char path[4096];
	struct stat st;
	FILE *in;
	bool well;

	if (snprintf(path, sizeof(path), "%s/metadata", folder) >=
	    (int)sizeof(path))
		return true;
	in = fopen(path, "r");
	if (!in || fstat(fileno(in), &st)) {
		snprintf(why, size, "open %s/metadata: %s", name,
			 strerror(errno));
		if (in)
			fclose(in);
		return false;
	}
	well = check(in, (uint64_t)st.st_size);
	if (!well)
		snprintf(why, size, "%s/metadata: a packet of it is cut short",
			 name);
	fclose(in);
	return well;
}
