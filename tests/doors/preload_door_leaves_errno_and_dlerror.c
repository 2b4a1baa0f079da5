/* A look-up through us leaves errno alone, and dlerror says what it would say without us. */
#include "doors/door.h"

static void client(void)
{
	void *const driver = opened("libcuda.so.1", RTLD_NOW);
	static const char *const found[] = {"cuMemAlloc_v2", "cuGetErrorName",
					    "cuGetProcAddress_v2"};
	const char *said;

	CHECK(!dlerror());
	for (int i = 0; i < 3; i++) {
		CHECK(!dlopen("no-such-library.so", RTLD_NOW)); /* an error that nobody asks for */
		errno = 4242;
		CHECK(dlsym(driver, found[i]) != NULL);
		CHECK_EQ(errno, 4242);
		CHECK(!dlerror());
	}
	CHECK(!dlsym(driver, "cuNoSuchThing"));
	said = dlerror();
	CHECK(said && strstr(said, "cuNoSuchThing"));
	CHECK(!dlerror());
	/* the driver was opened for its opener alone */
	CHECK(!dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	said = dlerror();
	CHECK(said && strstr(said, "cuMemAlloc_v2"));
	CHECK(!dlopen("/no/such/libcuda.so.1", RTLD_NOW));
	said = dlerror();
	CHECK(said && strstr(said, "/no/such/libcuda.so.1"));
}

DOOR_TEST(client)
