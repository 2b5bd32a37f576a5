//go:build nvidia

#define _GNU_SOURCE
#include <dlfcn.h>

#include "init.h"

static CUresult started = CUDA_SUCCESS;

CUresult psb_start(void)
{
	CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(RTLD_NEXT, "cuInit");
	return started = init ? init(0) : CUDA_ERROR_NOT_FOUND;
}

// This cuInit replaces the driver's: package cu calls it before main. The driver's cuInit has already run by then,
// unless the program only prints its version.
CUresult cuInit(unsigned flags)
{
	(void)flags;
	return started;
}
