/* A program linked with a shared runtime sees the cap; the runtime alone opens the driver. */
#include "doors/door.h"

void plugin_sees_the_cap(void);

DOOR_TEST(plugin_sees_the_cap)
