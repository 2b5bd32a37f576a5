//go:build nvidia

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "shim.h"

static __thread char lacks[128];

// FIND looks up a function of l by its name, or ends the load with an error.
#define FIND(l, handle, name)                                        \
	do {                                                             \
		*(void **)&(l)->name = dlsym(handle, #name);                 \
		if (!(l)->name) {                                            \
			snprintf(lacks, sizeof lacks, "it has no %s", #name);    \
			dlclose(handle);                                         \
			return lacks;                                            \
		}                                                            \
	} while (0)

// load_beside loads libcublasLt, which cuBLAS needs, from the folder of a cuBLAS that was named by its path. The
// loader does not look in that folder.
static void load_beside(const char *name)
{
	const char *file = strrchr(name, '/');
	char path[4096];
	if (!file || strncmp(file, "/libcublas.", 11))
		return;
	snprintf(path, sizeof path, "%.*s/libcublasLt%s", (int)(file - name), name, file + 10);
	dlopen(path, RTLD_NOW | RTLD_GLOBAL); // on failure, cuBLAS reports the error
}

const char *psb_load_cublas(const char *name, psb_cublas *l)
{
	load_beside(name);
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return dlerror();
	FIND(l, handle, cublasCreate_v2);
	FIND(l, handle, cublasDestroy_v2);
	FIND(l, handle, cublasGetVersion_v2);
	FIND(l, handle, cublasSetStream_v2);
	FIND(l, handle, cublasSgemm_v2);
	return NULL;
}

const char *psb_load_nccl(const char *name, psb_nccl *l)
{
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return dlerror();
	FIND(l, handle, ncclGetVersion);
	int version = 0;
	if (l->ncclGetVersion(&version) || version < PSB_NCCL_OLDEST) {
		// Until 2.8, the minor version has one digit less: 2804.
		int unit = version < 10000 ? 1000 : 10000;
		snprintf(lacks, sizeof lacks, "it is NCCL %d.%d.%d, but psbench needs 2.14 or newer", version / unit, version % unit / 100, version % 100);
		dlclose(handle);
		return lacks;
	}
	FIND(l, handle, ncclGetUniqueId);
	FIND(l, handle, ncclCommInitRankConfig);
	FIND(l, handle, ncclAllReduce);
	FIND(l, handle, ncclCommGetAsyncError);
	FIND(l, handle, ncclCommFinalize);
	FIND(l, handle, ncclCommDestroy);
	FIND(l, handle, ncclCommAbort);
	FIND(l, handle, ncclGetErrorString);
	return NULL;
}

#define ON(ctx)                                 \
	do {                                        \
		if (cuCtxSetCurrent(ctx))               \
			return PSB_NO_CONTEXT;              \
	} while (0)

int psb_cublas_create(const psb_cublas *l, CUcontext ctx, CUstream s, void **handle, int *version)
{
	ON(ctx);
	int result = l->cublasCreate_v2(handle);
	if (result)
		return result;
	if ((!s || !(result = l->cublasSetStream_v2(*handle, s))) && !(result = l->cublasGetVersion_v2(*handle, version)))
		return 0;
	l->cublasDestroy_v2(*handle);
	return result;
}

int psb_cublas_destroy(const psb_cublas *l, CUcontext ctx, void *handle)
{
	ON(ctx);
	return l->cublasDestroy_v2(handle);
}

int psb_cublas_sgemm(const psb_cublas *l, CUcontext ctx, void *handle, int trans_a, int trans_b, int m, int n, int k,
                     float alpha, CUdeviceptr a, int lda, CUdeviceptr b, int ldb, float beta, CUdeviceptr c, int ldc)
{
	ON(ctx);
	// cuBLAS is column-major and psbench is row-major, so cuBLAS sees every matrix transposed. With the factors
	// swapped, its result is the transposed product, which is psbench's product in row-major order.
	return l->cublasSgemm_v2(handle, trans_b, trans_a, n, m, k, &alpha, (const float *)b, ldb, (const float *)a, lda,
	                         &beta, (float *)c, ldc);
}

int psb_nccl_version(const psb_nccl *l, int *version) { return l->ncclGetVersion(version); }

int psb_nccl_unique_id(const psb_nccl *l, void *id) { return l->ncclGetUniqueId(id); }

int psb_nccl_init(const psb_nccl *l, CUcontext ctx, void **comm, int ranks, const void *id, int rank)
{
	psb_nccl_id by_value;
	psb_nccl_config config = {.size = sizeof config, .magic = 0xcafebeef, .version = PSB_NCCL_OLDEST, .blocking = 0};
	memcpy(&by_value, id, sizeof by_value);
	ON(ctx);
	return l->ncclCommInitRankConfig(comm, ranks, by_value, rank, &config);
}

int psb_nccl_all_reduce(const psb_nccl *l, CUcontext ctx, void *comm, CUdeviceptr send, CUdeviceptr receive,
                        size_t count, int type, int op, CUstream s)
{
	ON(ctx);
	return l->ncclAllReduce((const void *)send, (void *)receive, count, type, op, comm, s);
}

int psb_nccl_async_error(const psb_nccl *l, void *comm, int *error) { return l->ncclCommGetAsyncError(comm, error); }

int psb_nccl_finalize(const psb_nccl *l, CUcontext ctx, void *comm)
{
	ON(ctx);
	return l->ncclCommFinalize(comm);
}

int psb_nccl_destroy(const psb_nccl *l, CUcontext ctx, void *comm)
{
	ON(ctx);
	return l->ncclCommDestroy(comm);
}

int psb_nccl_abort(const psb_nccl *l, CUcontext ctx, void *comm)
{
	ON(ctx);
	return l->ncclCommAbort(comm);
}

const char *psb_nccl_error(const psb_nccl *l, int result)
{
	const char *text = l->ncclGetErrorString(result);
	return text ? text : "an error that NCCL has no words for";
}
