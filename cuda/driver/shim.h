// Driver calls that package cu lacks, and calls of hot paths. Each sets the context of its thread, because
// goroutines move between threads. None allocates or calls back.
#ifndef PSBENCH_SHIM_H
#define PSBENCH_SHIM_H

#include <cuda.h>

// psb_launch launches a kernel. Each argument has 8 bytes; the kernel reads as many bytes as its parameter has.
CUresult psb_launch(CUcontext ctx, CUfunction f, const uint32_t *grid, const uint32_t *block,
                    uint32_t shared_bytes, CUstream s, const uint64_t *arguments, int n);

CUresult psb_copy_in(CUcontext ctx, CUdeviceptr dst, const void *host, size_t bytes, CUstream s);
CUresult psb_copy_out(CUcontext ctx, void *host, CUdeviceptr src, size_t bytes, CUstream s);
CUresult psb_copy_device(CUcontext ctx, CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s);
CUresult psb_clear(CUcontext ctx, CUdeviceptr dst, size_t bytes, CUstream s);

CUresult psb_stream_query(CUcontext ctx, CUstream s);
CUresult psb_stream_synchronize(CUcontext ctx, CUstream s);
CUresult psb_stream_wait(CUcontext ctx, CUstream s, CUevent e);
CUresult psb_event_record(CUcontext ctx, CUevent e, CUstream s);
CUresult psb_event_query(CUcontext ctx, CUevent e);
CUresult psb_event_synchronize(CUcontext ctx, CUevent e);
CUresult psb_event_elapsed(CUcontext ctx, float *ms, CUevent a, CUevent b);

CUresult psb_begin_capture(CUcontext ctx, CUstream s);
CUresult psb_end_capture(CUcontext ctx, CUstream s, CUgraph *graph);
CUresult psb_graph_instantiate(CUcontext ctx, CUgraphExec *exec, CUgraph graph);
CUresult psb_graph_launch(CUcontext ctx, CUgraphExec exec, CUstream s);

CUresult psb_host_alloc(CUcontext ctx, void **host, size_t bytes);
CUresult psb_host_free(CUcontext ctx, void *host);
CUresult psb_host_register(CUcontext ctx, void *host, size_t bytes, int read_only);
CUresult psb_host_unregister(CUcontext ctx, void *host);

CUresult psb_export_memory(CUcontext ctx, void *handle, CUdeviceptr memory);
CUresult psb_import_memory(CUcontext ctx, CUdeviceptr *memory, const void *handle);
CUresult psb_close_memory(CUcontext ctx, CUdeviceptr memory);
CUresult psb_export_event(CUcontext ctx, void *handle, CUevent e);
CUresult psb_import_event(CUcontext ctx, CUevent *e, const void *handle);

// psb_error_name and psb_error_text are never NULL.
const char *psb_error_name(CUresult r);
const char *psb_error_text(CUresult r);

#endif
