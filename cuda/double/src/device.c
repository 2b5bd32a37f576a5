// The driver itself and its devices: versions, names, attributes.
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "double.h"

bool initialized;
static int lost;

typedef struct { char bytes[16]; } CUuuid;

void device_lost(void) {
    lost = config.lost_code;
    note("the device is lost (%d)", lost);
}
int devices_lost(void) { return lost; }

// device_clock_ns starts at an arbitrary value and runs fast, by 50 millionths unless configured otherwise.
// device_clock_ns differs from the host's clock.
uint64_t device_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return ns + ns / 1000000 * config.clock_ppm + ns % 1000000 * config.clock_ppm / 1000000 + 123456789012345ull;
}

API CUresult cuInit(unsigned flags) {
    ENTER();
    if (flags) return leave(CUDA_ERROR_INVALID_VALUE);
    if (config.devices == 0) return leave(CUDA_ERROR_NO_DEVICE);
    if (!memory_prepare()) return leave(CUDA_ERROR_OUT_OF_MEMORY);
    initialized = true;
    return leave(CUDA_SUCCESS);
}

API CUresult cuDriverGetVersion(int *version) {
    ENTER();
    *version = config.version;
    return leave(CUDA_SUCCESS);
}

static bool valid(CUdevice device) { return device >= 0 && device < config.devices; }

API CUresult cuDeviceGetCount(int *count) {
    ENTER();
    *count = config.devices;
    return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER();
    if (!valid(ordinal)) return leave(CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    ENTER();
    if (!valid(device)) return leave(CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, (size_t)size, "psbench double %d.%d", config.capability / 10, config.capability % 10);
    return leave(CUDA_SUCCESS);
}

static CUresult uuid(CUuuid *id, CUdevice device) {
    if (!valid(device)) return CUDA_ERROR_INVALID_DEVICE;
    memcpy(id->bytes, "psbench double ", 16);
    id->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid(CUuuid *id, CUdevice device) {
    ENTER();
    return leave(uuid(id, device));
}

API CUresult cuDeviceGetUuid_v2(CUuuid *id, CUdevice device) {
    ENTER();
    return leave(uuid(id, device));
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    ENTER();
    if (!valid(device)) return leave(CUDA_ERROR_INVALID_DEVICE);
    *bytes = config.memory_bytes;
    return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device) {
    ENTER();
    if (!valid(device)) return leave(CUDA_ERROR_INVALID_DEVICE);
    snprintf(id, (size_t)size, "0000:%02x:00.0", device + 1);
    return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    ENTER();
    if (!valid(device)) return leave(CUDA_ERROR_INVALID_DEVICE);
    static const struct { int attribute, value; } known[] = {
        {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {9, 65536}, {10, 32},
        {11, 2147483647}, {12, 65536}, {13, 1000000}, {14, 512}, {15, 1}, {16, 2}, {17, 0}, {18, 0}, {19, 1}, {31, 1}, {32, 0},
        {34, 0}, {35, 0}, {36, 1000000}, {37, 256}, {38, 4194304}, {39, 2048}, {40, 2}, {41, 1}, {50, 0}, {78, 1}, {79, 1}, {80, 1},
        {81, 102400}, {82, 65536}, {83, 0}, {84, 0}, {85, 0}, {86, 0}, {87, 32}, {88, 0}, {89, 0}, {90, 1}, {91, 1}, {95, 0}, {96, 0}, {97, 101376},
        {99, 1}, {100, 0}, {106, 16}, {111, 1024}, {114, 0}, {115, 0}, {125, 1}};
    switch (attribute) {
    case 20: *value = config.prohibited ? 2 : config.exclusive ? 3 : 0; return leave(CUDA_SUCCESS);
    case 33: *value = device + 1; return leave(CUDA_SUCCESS);
    case 75: *value = config.capability / 10; return leave(CUDA_SUCCESS);
    case 76: *value = config.capability % 10; return leave(CUDA_SUCCESS);
    case 113: *value = config.registers_read_only; return leave(CUDA_SUCCESS);
    }
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++)
        if (known[n].attribute == attribute) {
            *value = known[n].value;
            return leave(CUDA_SUCCESS);
        }
    if (attribute <= 0 || attribute > 140) return leave(CUDA_ERROR_INVALID_VALUE);
    *value = 0;
    return leave(CUDA_SUCCESS);
}

static bool reaches(CUdevice device, CUdevice peer) { return device != peer && config.reaches[device] >> peer & 1; }

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    ENTER();
    if (!valid(device) || !valid(peer)) return leave(CUDA_ERROR_INVALID_DEVICE);
    *can = reaches(device, peer);
    return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer) {
    ENTER();
    if (!valid(device) || !valid(peer) || device == peer) return leave(CUDA_ERROR_INVALID_DEVICE);
    if (attribute < 1 || attribute > 4) return leave(CUDA_ERROR_INVALID_VALUE);
    *value = attribute == 2 && reaches(device, peer); // CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
    return leave(CUDA_SUCCESS);
}

static const struct { int code; const char *name, *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"}, {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"}, {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"}, {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}, {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}, {205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"}, {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"}, {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"}, {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"}, {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not initiated in this stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"}};

static CUresult error_text(CUresult code, const char **text, bool name) {
    for (size_t n = 0; n < sizeof errors / sizeof errors[0]; n++)
        if (errors[n].code == code) {
            *text = name ? errors[n].name : errors[n].text;
            return CUDA_SUCCESS;
        }
    *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

// These two need neither the lock nor a device.
API CUresult cuGetErrorName(CUresult code, const char **text) { return error_text(code, text, true); }
API CUresult cuGetErrorString(CUresult code, const char **text) { return error_text(code, text, false); }
