//go:build nvidia

#include <string.h>
#include <time.h>

#include "shim.h"

// ON makes ctx current on this thread, or returns from the function with the error.
#define ON(ctx)                                  \
	do {                                         \
		CUresult current = cuCtxSetCurrent(ctx); \
		if (current != CUDA_SUCCESS)             \
			return current;                      \
	} while (0)

enum { max_arguments = 32 };

CUresult psb_launch(CUcontext ctx, CUfunction f, const uint32_t *grid, const uint32_t *block,
                    uint32_t shared_bytes, CUstream s, const uint64_t *arguments, int n)
{
	void *addresses[max_arguments];
	if (n > max_arguments)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < n; i++)
		addresses[i] = (void *)&arguments[i];
	ON(ctx);
	return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes, s, addresses, NULL);
}

CUresult psb_copy_in(CUcontext ctx, CUdeviceptr dst, const void *host, size_t bytes, CUstream s)
{
	ON(ctx);
	return cuMemcpyHtoDAsync(dst, host, bytes, s);
}

CUresult psb_copy_out(CUcontext ctx, void *host, CUdeviceptr src, size_t bytes, CUstream s)
{
	ON(ctx);
	return cuMemcpyDtoHAsync(host, src, bytes, s);
}

CUresult psb_copy_device(CUcontext ctx, CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s)
{
	ON(ctx);
	return cuMemcpyDtoDAsync(dst, src, bytes, s);
}

CUresult psb_clear(CUcontext ctx, CUdeviceptr dst, size_t bytes, CUstream s)
{
	ON(ctx);
	return cuMemsetD8Async(dst, 0, bytes, s);
}

CUresult psb_stream_query(CUcontext ctx, CUstream s)
{
	ON(ctx);
	return cuStreamQuery(s);
}

CUresult psb_stream_synchronize(CUcontext ctx, CUstream s)
{
	ON(ctx);
	return cuStreamSynchronize(s);
}

CUresult psb_stream_wait(CUcontext ctx, CUstream s, CUevent e)
{
	ON(ctx);
	return cuStreamWaitEvent(s, e, 0);
}

CUresult psb_event_record(CUcontext ctx, CUevent e, CUstream s)
{
	ON(ctx);
	return cuEventRecord(e, s);
}

CUresult psb_event_query(CUcontext ctx, CUevent e)
{
	ON(ctx);
	return cuEventQuery(e);
}

// spin_ns is how long a wait polls before it blocks. Waking up takes 20 to 60 us, polling 5.
enum { spin_ns = 100000 };

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

CUresult psb_event_synchronize(CUcontext ctx, CUevent e)
{
	ON(ctx);
	for (int64_t until = now_ns() + spin_ns; cuEventQuery(e) == CUDA_ERROR_NOT_READY && now_ns() < until;) {
	}
	return cuEventSynchronize(e);
}

CUresult psb_event_elapsed(CUcontext ctx, float *ms, CUevent a, CUevent b)
{
	ON(ctx);
	return cuEventElapsedTime(ms, a, b);
}

CUresult psb_begin_capture(CUcontext ctx, CUstream s)
{
	// Relaxed mode, because the goroutine may have moved to another thread, which then ends the capture. Other
	// goroutines may also allocate meanwhile.
	ON(ctx);
	return cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
}

CUresult psb_end_capture(CUcontext ctx, CUstream s, CUgraph *graph)
{
	ON(ctx);
	return cuStreamEndCapture(s, graph);
}

CUresult psb_graph_instantiate(CUcontext ctx, CUgraphExec *exec, CUgraph graph)
{
	ON(ctx);
	return cuGraphInstantiate(exec, graph, NULL, NULL, 0);
}

CUresult psb_graph_launch(CUcontext ctx, CUgraphExec exec, CUstream s)
{
	ON(ctx);
	return cuGraphLaunch(exec, s);
}

CUresult psb_host_alloc(CUcontext ctx, void **host, size_t bytes)
{
	ON(ctx);
	return cuMemHostAlloc(host, bytes, CU_MEMHOSTALLOC_PORTABLE);
}

CUresult psb_host_free(CUcontext ctx, void *host)
{
	ON(ctx);
	return cuMemFreeHost(host);
}

CUresult psb_host_register(CUcontext ctx, void *host, size_t bytes, int read_only)
{
	ON(ctx);
	return cuMemHostRegister(host, bytes, CU_MEMHOSTREGISTER_PORTABLE | (read_only ? CU_MEMHOSTREGISTER_READ_ONLY : 0));
}

CUresult psb_host_unregister(CUcontext ctx, void *host)
{
	ON(ctx);
	return cuMemHostUnregister(host);
}

CUresult psb_export_memory(CUcontext ctx, void *handle, CUdeviceptr memory)
{
	ON(ctx);
	return cuIpcGetMemHandle(handle, memory);
}

CUresult psb_import_memory(CUcontext ctx, CUdeviceptr *memory, const void *handle)
{
	CUipcMemHandle h;
	memcpy(&h, handle, sizeof h);
	ON(ctx);
	return cuIpcOpenMemHandle(memory, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

CUresult psb_close_memory(CUcontext ctx, CUdeviceptr memory)
{
	ON(ctx);
	return cuIpcCloseMemHandle(memory);
}

CUresult psb_export_event(CUcontext ctx, void *handle, CUevent e)
{
	ON(ctx);
	return cuIpcGetEventHandle(handle, e);
}

CUresult psb_import_event(CUcontext ctx, CUevent *e, const void *handle)
{
	CUipcEventHandle h;
	memcpy(&h, handle, sizeof h);
	ON(ctx);
	return cuIpcOpenEventHandle(e, h);
}

const char *psb_error_name(CUresult r)
{
	const char *name = NULL;
	return cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "CUDA_ERROR_UNKNOWN";
}

const char *psb_error_text(CUresult r)
{
	const char *text = NULL;
	return cuGetErrorString(r, &text) == CUDA_SUCCESS && text ? text : "an error that the driver has no words for";
}
