/*
 * The table behind cuGetProcAddress, written by exports.py from the typedef headers.
 */
#ifndef SIMGPU_RESOLVER_H
#define SIMGPU_RESOLVER_H

struct resolver_row {
	const char *name;
	int version;	/* in which this ABI began */
	int per_thread; /* a _ptsz or _ptds variant */
	int graphics;	/* of GL, EGL or VDPAU */
	void *address;
};

extern const struct resolver_row resolver_rows[]; /* sorted by name, then version */
extern const unsigned int resolver_count;

/* Names and texts of CUresult. */
struct resolver_error {
	int code;
	const char *name, *text;
};

extern const struct resolver_error resolver_errors[];
extern const unsigned int resolver_error_count;

#endif
