/*
 * See room.h. What is larger than half a piece is mapped by itself; the rest is cut off the piece
 * at hand, and kept by its size when it comes back: tables double, so there are few sizes.
 */
#include "policy/room.h"
#include "policy/lock.h"
#include "base/wiped.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define SIZES 64u
#define ALIGN 64u /* a line */

struct free {
	struct free *next;
};

struct room {
	struct lock lock;
	char *piece;
	size_t left;
	struct {
		size_t bytes;
		struct free *free;
	} size[SIZES];
};

static void *memory;

int room_start(void)
{
	return wiped_once(&memory, sizeof(struct room)) ? 0 : -ENOMEM;
}

/* The list for that size, or a place for one; NULL when there are too many sizes. */
static struct free **list_of(struct room *room, size_t bytes)
{
	for (uint32_t i = 0; i < SIZES; i++) {
		if (!room->size[i].bytes)
			room->size[i].bytes = bytes;
		if (room->size[i].bytes == bytes)
			return &room->size[i].free;
	}
	return NULL;
}

static void *take(struct room *room, size_t bytes)
{
	struct free **const list = list_of(room, bytes), *const again = list ? *list : NULL;
	char *taken;

	if (again) {
		*list = again->next;
		return memset(again, 0, bytes);
	}
	if (room->left < bytes) {
		char *const piece = wiped_map_large(WIPED_LARGE);

		if (!piece)
			return NULL;
		room->piece = piece;
		room->left = WIPED_LARGE;
	}
	taken = room->piece;
	room->piece += bytes;
	room->left -= bytes;
	return taken;
}

static size_t rounded(size_t bytes)
{
	return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

void *room_take(size_t bytes)
{
	struct room *const room = memory;
	void *taken;

	bytes = rounded(bytes);
	if (bytes > WIPED_LARGE / 2)
		return wiped_map_large(bytes);
	lock_take(&room->lock);
	taken = take(room, bytes);
	lock_give(&room->lock);
	return taken;
}

void room_give(void *given, size_t bytes)
{
	struct room *const room = memory;
	struct free **list;

	bytes = rounded(bytes);
	if (!given)
		return;
	if (bytes > WIPED_LARGE / 2) {
		wiped_unmap_large(given, bytes);
		return;
	}
	lock_take(&room->lock);
	list = list_of(room, bytes);
	if (list) {
		((struct free *)given)->next = *list;
		*list = given;
	}
	lock_give(&room->lock);
}
