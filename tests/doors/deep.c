/* A library that calls a function which the program defines too: with RTLD_DEEPBIND its own, else
 * the program's. */
#pragma GCC visibility push(default)
int who_is_it(void);
int deep_asks(void);

int who_is_it(void)
{
	return 2;
}

int deep_asks(void)
{
	return who_is_it();
}
#pragma GCC visibility pop
