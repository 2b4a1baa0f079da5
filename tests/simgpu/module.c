/*
 * Modules, libraries, functions and kernels: anything loads, every name is a function, launches do
 * nothing.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

/* A module, a library, a function or a kernel. */
struct code {
	struct handle handle;
	struct code *of; /* the module of a function, the library of a kernel */
	struct code *twin; /* the module of a library, the function of a kernel */
	char name[384];
};

_Static_assert(sizeof(struct code) <= HANDLE_BYTES, "a handle's room");

static CUresult code_new(const enum kind kind, struct code *of, const char *name, void **out)
{
	struct code *code;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	code = handle_new(kind);
	if (!code)
		return CUDA_ERROR_OUT_OF_MEMORY;
	code->of = of;
	snprintf(code->name, sizeof(code->name), "%s", name ? name : "");
	*out = code;
	return CUDA_SUCCESS;
}

static CUresult load(CUmodule *module, const void *image)
{
	CUresult rc = CUDA_SUCCESS;

	if (!context_current(&rc))
		return rc;
	return image ? code_new(KIND_MODULE, NULL, NULL, (void **)module) :
		       CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuModuleLoad, (CUmodule * module, const char *fname), (module, fname))
{
	FILE *const file = fname ? fopen(fname, "re") : NULL;

	if (!file)
		return fname ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
	fclose(file);
	return load(module, fname);
}

CUAPI(cuModuleLoadData, (CUmodule * module, const void *image), (module, image))
{
	return load(module, image);
}

CUAPI(cuModuleLoadDataEx,
      (CUmodule * module, const void *image, unsigned int numOptions, CUjit_option *options,
       void **optionValues),
      (module, image, numOptions, options, optionValues))
{
	return load(module, image);
}

CUAPI(cuModuleLoadFatBinary, (CUmodule * module, const void *fatCubin), (module, fatCubin))
{
	return load(module, fatCubin);
}

CUAPI(cuModuleUnload, (CUmodule hmod), (hmod))
{
	if (!handle_get(hmod, KIND_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	handle_drop(hmod, KIND_MODULE);
	return CUDA_SUCCESS;
}

CUAPI(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), (mode))
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUAPI(cuModuleGetFunction, (CUfunction * hfunc, CUmodule hmod, const char *name),
      (hfunc, hmod, name))
{
	struct code *const module = handle_get(hmod, KIND_MODULE);

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	return name ? code_new(KIND_FUNCTION, module, name, (void **)hfunc) :
		      CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuModuleGetFunctionCount, (unsigned int *count, CUmodule mod), (count, mod))
{
	if (!handle_get(mod, KIND_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = 0;
	return CUDA_SUCCESS;
}

CUAPI(cuModuleGetGlobal_v2, (CUdeviceptr * dptr, size_t *bytes, CUmodule hmod, const char *name),
      (dptr, bytes, hmod, name))
{
	return handle_get(hmod, KIND_MODULE) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUAPI(cuLibraryLoadData,
      (CUlibrary * library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
       unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
       unsigned int numLibraryOptions),
      (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
       libraryOptionValues, numLibraryOptions))
{
	return code ? code_new(KIND_LIBRARY, NULL, NULL, (void **)library) :
		      CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuLibraryUnload, (CUlibrary library), (library))
{
	if (!handle_get(library, KIND_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	handle_drop(library, KIND_LIBRARY);
	return CUDA_SUCCESS;
}

CUAPI(cuLibraryGetKernel, (CUkernel * pKernel, CUlibrary library, const char *name),
      (pKernel, library, name))
{
	struct code *const of = handle_get(library, KIND_LIBRARY);

	if (!of)
		return CUDA_ERROR_INVALID_HANDLE;
	return name ? code_new(KIND_KERNEL, of, name, (void **)pKernel) : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuLibraryGetModule, (CUmodule * pMod, CUlibrary library), (pMod, library))
{
	struct code *const of = handle_get(library, KIND_LIBRARY);
	CUresult rc = CUDA_SUCCESS;

	if (!of)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!context_current(&rc))
		return rc;
	if (!of->twin)
		rc = code_new(KIND_MODULE, NULL, NULL, (void **)&of->twin);
	if (!rc && pMod)
		*pMod = (CUmodule)of->twin;
	return rc;
}

CUAPI(cuLibraryGetKernelCount, (unsigned int *count, CUlibrary lib), (count, lib))
{
	if (!handle_get(lib, KIND_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = 0;
	return CUDA_SUCCESS;
}

CUAPI(cuKernelGetFunction, (CUfunction * pFunc, CUkernel kernel), (pFunc, kernel))
{
	struct code *const of = handle_get(kernel, KIND_KERNEL);
	CUresult rc = CUDA_SUCCESS;

	if (!of)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!context_current(&rc))
		return rc;
	if (!of->twin)
		rc = code_new(KIND_FUNCTION, NULL, of->name, (void **)&of->twin);
	if (!rc && pFunc)
		*pFunc = (CUfunction)of->twin;
	return rc;
}

static struct code *function_get(const void *f)
{
	struct code *const function = handle_get(f, KIND_FUNCTION);

	/* Since 12.0 a kernel can be passed wherever a function is. */
	return function ? function : handle_get(f, KIND_KERNEL);
}

static CUresult launch(const void *f)
{
	CUresult rc = CUDA_SUCCESS;

	if (!context_current(&rc))
		return rc;
	return function_get(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUAPI(cuLaunchKernel,
      (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
       unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
       unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra),
      (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
       kernelParams, extra))
{
	if (!gridDimX || !gridDimY || !gridDimZ || !blockDimX || !blockDimY || !blockDimZ)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(f);
}

CUAPI(cuLaunchCooperativeKernel,
      (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
       unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
       unsigned int sharedMemBytes, CUstream hStream, void **kernelParams),
      (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
       kernelParams))
{
	return launch(f);
}

CUAPI(cuLaunchKernelEx,
      (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra),
      (config, f, kernelParams, extra))
{
	return config ? launch(f) : CUDA_ERROR_INVALID_VALUE;
}

CUAPI(cuLaunch, (CUfunction f), (f))
{
	return launch(f);
}

CUAPI(cuLaunchGrid, (CUfunction f, int grid_width, int grid_height), (f, grid_width, grid_height))
{
	return launch(f);
}

CUAPI(cuLaunchGridAsync, (CUfunction f, int grid_width, int grid_height, CUstream hStream),
      (f, grid_width, grid_height, hStream))
{
	return launch(f);
}
