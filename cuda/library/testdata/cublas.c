// A cuBLAS for tests. This cuBLAS multiplies on the host, column-major like the real cuBLAS. Sgemm returns an error
// status for negative sizes and for a handle without a stream.
//
// CREATE and DESTROY are values of cublasStatus_t with which creating or destroying a handle fails, as in a cuBLAS
// that needs a newer driver.
#include <stdlib.h>

#ifndef CREATE
#define CREATE 0
#endif
#ifndef DESTROY
#define DESTROY 0
#endif

struct handle { void *stream; };

int cublasCreate_v2(void **handle)
{
	if (CREATE)
		return CREATE;
	return (*handle = calloc(1, sizeof(struct handle))) ? 0 : 3;
}

int cublasDestroy_v2(void *handle)
{
	free(handle);
	return DESTROY;
}

int cublasGetVersion_v2(void *handle, int *version)
{
	*version = 120405;
	return handle ? 0 : 1;
}

int cublasSetStream_v2(void *handle, void *stream)
{
	((struct handle *)handle)->stream = stream;
	return stream ? 0 : 7;
}

static float at(const float *x, int ld, int transposed, int row, int column)
{
	return transposed ? x[row * ld + column] : x[column * ld + row];
}

int cublasSgemm_v2(void *handle, int trans_a, int trans_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc)
{
	if (m < 0 || n < 0 || k < 0)
		return 7;
	if (!((struct handle *)handle)->stream)
		return 1;
	for (int column = 0; column < n; column++) {
		for (int row = 0; row < m; row++) {
			double sum = 0;
			for (int i = 0; i < k; i++)
				sum += (double)at(a, lda, trans_a, row, i) * at(b, ldb, trans_b, i, column);
			float *to = &c[column * ldc + row];
			*to = *alpha * (float)sum + (*beta != 0 ? *beta * *to : 0);
		}
	}
	return 0;
}
