/*
 * The folder of the ledgers. Owns: making it, and which file systems it may lie on.
 * Promise: a maker that is stopped or killed shuts nobody out; a file system that is not known to
 * do is refused by name. Must never change a folder that is there already.
 */
#ifndef CUQUOTA_FOLDER_H
#define CUQUOTA_FOLDER_H

#include "ledger/segment.h"

/*
 * The folder, made if only its last part is missing: open to everybody and sticky, whatever the
 * umask. A folder that is there already keeps its mode: it is somebody's decision. A descriptor, or
 * -errno with the reason.
 */
int folder_open(const char *dir, enum segment_access access, char why[SEGMENT_WHY]);
/* Can a ledger lie there? 0, -EMEDIUMTYPE or another -errno with the reason. */
int folder_suits(int descriptor, const char *dir, char why[SEGMENT_WHY]);

#endif
