/*
 * Who calls? Owns: the address range of the driver's object. Promise: keeps errno, waits for
 * nothing once driver_inside_start ran.
 */
#ifndef DRIVER_INSIDE_H
#define DRIVER_INSIDE_H

#include <stdbool.h>

/* Looks where the driver lies, which is loaded. */
void driver_inside_start(void);
/* Does that code address lie in the driver? */
bool driver_is_inside(const void *code);

#endif
