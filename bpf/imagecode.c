// SPDX-License-Identifier: BSD-2-Clause
/* Where processes have code, as far as that is known. */
#include "codeplaces.h"
#include "imageusers.h"

static void add_log(struct ow_images *im, const struct ow_image_user *user)
{
	const struct ow_image_change *c;

	for (c = user->log; c < user->log + user->nr; c++)
		if (c->event == OW_IMAGE_MAP)
			ow_codeplaces_add(im->places, c->range.start,
					  c->range.end);
}

void ow_images_note_code(struct ow_images *im)
{
	const struct ow_image_user *user;
	const struct ow_image *image;
	size_t i;

	if (!im->places)
		im->places = ow_codeplaces_create();
	if (!im->places)
		return;
	ow_codeplaces_clear(im->places);
	for (i = 0; i < im->nr_buckets; i++)
		for (image = im->by_id[i]; image; image = image->next_of_id)
			ow_codeplaces_add_image(im->places, image);
	for (i = 0; i < im->nr_user_buckets; i++)
		for (user = im->users[i]; user; user = user->next)
			add_log(im, user);
	ow_codeplaces_keep(im->places);
}

bool ow_images_may_have_code(struct ow_images *im, uint64_t start, uint64_t end)
{
	if (ow_codeplaces_is_crowded(im->places))
		ow_images_note_code(im);
	return ow_codeplaces_has(im->places, start, end);
}
