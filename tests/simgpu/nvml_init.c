/*
 * Start and end, counted; the system; errors by name. The two versions of init call each other,
 * once, as a real driver's did (field report DL-02): in build/simgpu-plt through the PLT.
 */
#include "nvml_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static unsigned int users;
static __thread int inside __attribute__((tls_model("initial-exec")));
static struct account account;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int sim_guard(void)
{
	return __atomic_load_n(&users, __ATOMIC_ACQUIRE) ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

struct account *nvml_account(void)
{
	pthread_mutex_lock(&lock);
	if (!account.file)
		account_open(&account, config_get()->dir, NULL);
	if (account.file)
		account_reap(&account, true);
	pthread_mutex_unlock(&lock);
	return account.file ? &account : NULL;
}

static nvmlReturn_t start(void)
{
	__atomic_add_fetch(&users, 1, __ATOMIC_ACQ_REL);
	return NVML_SUCCESS;
}

#ifndef SIMGPU_PLT
/* Its own row declares it again. */
#pragma GCC diagnostic ignored "-Wredundant-decls"
static nvmlReturn_t sim_nvmlInitWithFlags(unsigned int flags);
#endif

NVANYTIME(nvmlInit_v2, (void), ())
{
	nvmlReturn_t rc;

	if (inside)
		return start();
	inside = 1;
	rc = INNER(nvmlInitWithFlags)(0);
	inside = 0;
	return rc;
}

NVANYTIME(nvmlInitWithFlags, (unsigned int flags), (flags))
{
	nvmlReturn_t rc;

	if (inside)
		return start();
	inside = 1;
	rc = INNER(nvmlInit_v2)();
	inside = 0;
	return rc;
}

NVANYTIME(nvmlInit, (void), ())
{
	return INNER(nvmlInit_v2)();
}

NVAPI(nvmlShutdown, (void), ())
{
	unsigned int seen = __atomic_load_n(&users, __ATOMIC_ACQUIRE);

	do {
		if (!seen)
			return NVML_ERROR_UNINITIALIZED;
	} while (!__atomic_compare_exchange_n(&users, &seen, seen - 1, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return NVML_SUCCESS;
}

SIM_EXPORT const char *nvmlErrorString(nvmlReturn_t result)
{
	static const char *const text[] = {
		"Success", "Uninitialized", "Invalid Argument", "Not Supported",
		"Insufficient Permissions", "Already Initialized", "Not Found",
		"Insufficient Size", "Insufficient External Power", "Driver Not Loaded", "Timeout",
		"Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found",
		"Corrupted infoROM", "GPU is lost", "GPU requires reset",
		"The operating system has blocked the request",
		"Driver/library version mismatch", "In use by another client",
		"Insufficient Memory",
		"No data", "ECC is enabled", "Insufficient resources", "Frequency not supported",
		"The provided version is invalid/unsupported", "Deprecated", "Not ready",
		"No GPUs were found", "Invalid state", "Reset type not supported",
	};

	return (unsigned int)result < sizeof(text) / sizeof(text[0]) ? text[result] :
								      "Unknown Error";
}

static nvmlReturn_t put(char *to, const unsigned int length, const char *text)
{
	if (!to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (length <= strlen(text))
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return NVML_SUCCESS;
}

NVAPI(nvmlSystemGetDriverVersion, (char *version, unsigned int length), (version, length))
{
	char text[32];

	/* 13.0 came with branch 580; five for each minor release. */
	snprintf(text, sizeof(text), "%u.65.06", 580 + (config_get()->version - 13000) / 2);
	return put(version, length, text);
}

NVAPI(nvmlSystemGetNVMLVersion, (char *version, unsigned int length), (version, length))
{
	char text[32];

	snprintf(text, sizeof(text), "%u.%u.65.06", config_get()->version / 1000,
		 580 + (config_get()->version - 13000) / 2);
	return put(version, length, text);
}

NVANYTIME(nvmlSystemGetCudaDriverVersion_v2, (int *cudaDriverVersion), (cudaDriverVersion))
{
	if (!cudaDriverVersion)
		return NVML_ERROR_INVALID_ARGUMENT;
	*cudaDriverVersion = (int)config_get()->version;
	return NVML_SUCCESS;
}

NVANYTIME(nvmlSystemGetCudaDriverVersion, (int *cudaDriverVersion), (cudaDriverVersion))
{
	return INNER(nvmlSystemGetCudaDriverVersion_v2)(cudaDriverVersion);
}

NVAPI(nvmlSystemGetProcessName, (unsigned int pid, char *name, unsigned int length),
      (pid, name, length))
{
	char path[32], text[256];
	FILE *file;
	size_t got;

	if (!name || !length)
		return NVML_ERROR_INVALID_ARGUMENT;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	file = fopen(path, "re");
	if (!file)
		return NVML_ERROR_NOT_FOUND;
	got = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[got] = 0;
	snprintf(name, length, "%s", text);
	return NVML_SUCCESS;
}
