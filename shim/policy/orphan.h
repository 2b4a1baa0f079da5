/*
 * Frees that the driver accepted and that met no entry. Owns: the list of the latest.
 *
 * Such a free killed an allocation that is not in our tables: memory of a pool or of another owner,
 * or one that another thread was just given and has not entered yet (the program freed the address
 * twice). In the second case that thread's claim was open before the epoch of the free, and of the
 * claims that were and bring this address exactly one is dead: the first to come takes the orphan
 * and is not entered. The others ask the driver what lives there now.
 */
#ifndef POLICY_ORPHAN_H
#define POLICY_ORPHAN_H

#include <stdbool.h>
#include <stdint.h>

/* 0 or -ENOMEM. */
int orphan_start(void);
/* Raises the epoch, has `look` look for an entry once more, and if it finds none notes the free. */
void orphan_note(uint64_t pointer, bool (*look)(uint64_t pointer));
/* Was there one at that address since `epoch`? Then it is taken. */
bool orphan_take(uint64_t pointer, uint64_t epoch);

#endif
