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

// cuInit is in this program what package cu calls before main, in the place of the driver's: that has been called by
// then, but where the program only says what it is.
CUresult cuInit(unsigned flags)
{
	(void)flags;
	return started;
}
