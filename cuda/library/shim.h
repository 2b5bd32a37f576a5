// NVIDIA's libraries that are loaded at run time, and the functions of them that psbench calls.
#ifndef PSBENCH_LIBRARY_H
#define PSBENCH_LIBRARY_H

#include <cuda.h>

// psb_cublas holds functions of cuBLAS under their original names.
typedef struct {
	int (*cublasCreate_v2)(void **handle);
	int (*cublasDestroy_v2)(void *handle);
	int (*cublasGetVersion_v2)(void *handle, int *version);
	int (*cublasSetStream_v2)(void *handle, CUstream stream);
	int (*cublasSgemm_v2)(void *handle, int trans_a, int trans_b, int m, int n, int k, const float *alpha,
	                      const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
} psb_cublas;

// psb_nccl_id is ncclUniqueId, which is passed by value.
typedef struct {
	char internal[128];
} psb_nccl_id;

// psb_nccl_config is ncclConfig_t of NCCL 2.14. Later versions treat missing fields as unset.
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking;
} psb_nccl_config;

// psb_nccl holds functions of NCCL under their original names.
typedef struct {
	int (*ncclGetVersion)(int *version);
	int (*ncclGetUniqueId)(psb_nccl_id *id);
	int (*ncclCommInitRankConfig)(void **comm, int ranks, psb_nccl_id id, int rank, psb_nccl_config *config);
	int (*ncclAllReduce)(const void *send, void *receive, size_t count, int type, int op, void *comm, CUstream stream);
	int (*ncclCommGetAsyncError)(void *comm, int *error);
	int (*ncclCommFinalize)(void *comm);
	int (*ncclCommDestroy)(void *comm);
	int (*ncclCommAbort)(void *comm);
	const char *(*ncclGetErrorString)(int result);
} psb_nccl;

// The oldest NCCL with communicators whose calls do not wait.
enum { PSB_NCCL_OLDEST = 21400 };

// psb_load_cublas and psb_load_nccl load a library and look up all functions. Both return NULL or an error text,
// valid until the thread's next call.
const char *psb_load_cublas(const char *name, psb_cublas *l);
const char *psb_load_nccl(const char *name, psb_nccl *l);

// The calls below make ctx current on their thread. These calls return the library's result, or PSB_NO_CONTEXT.
enum { PSB_NO_CONTEXT = -1, PSB_IN_PROGRESS = 7 };

// psb_cublas_create creates a handle for a stream, or without a stream if s is NULL.
int psb_cublas_create(const psb_cublas *l, CUcontext ctx, CUstream s, void **handle, int *version);
int psb_cublas_destroy(const psb_cublas *l, CUcontext ctx, void *handle);

// psb_cublas_sgemm is row-major: c = alpha op(a) op(b) + beta c with m rows and n columns.
int psb_cublas_sgemm(const psb_cublas *l, CUcontext ctx, void *handle, int trans_a, int trans_b, int m, int n, int k,
                     float alpha, CUdeviceptr a, int lda, CUdeviceptr b, int ldb, float beta, CUdeviceptr c, int ldc);

int psb_nccl_version(const psb_nccl *l, int *version);
int psb_nccl_unique_id(const psb_nccl *l, void *id);
// psb_nccl_init creates a communicator whose calls do not wait: they return PSB_IN_PROGRESS instead.
int psb_nccl_init(const psb_nccl *l, CUcontext ctx, void **comm, int ranks, const void *id, int rank);
int psb_nccl_all_reduce(const psb_nccl *l, CUcontext ctx, void *comm, CUdeviceptr send, CUdeviceptr receive,
                        size_t count, int type, int op, CUstream s);
int psb_nccl_async_error(const psb_nccl *l, void *comm, int *error);
int psb_nccl_finalize(const psb_nccl *l, CUcontext ctx, void *comm);
int psb_nccl_destroy(const psb_nccl *l, CUcontext ctx, void *comm);
int psb_nccl_abort(const psb_nccl *l, CUcontext ctx, void *comm);
const char *psb_nccl_error(const psb_nccl *l, int result);

#endif
