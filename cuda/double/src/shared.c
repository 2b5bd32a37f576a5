// Shared state of the processes that name the same file: how much memory each uses, and which devices.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "double.h"

enum { PROCESSES = 1024 };

typedef struct {
    int64_t started;                   // start time of the process; distinguishes later processes with the same number
    int64_t bytes[16];
    int32_t pid, claims;
} Slot;

static Slot *slots, *own, alone;
static int file = -1;

uint64_t process_started(int pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int stat = open(path, O_RDONLY | O_CLOEXEC);
    if (stat < 0) return 0;
    ssize_t n = read(stat, text, sizeof text - 1);
    close(stat);
    if (n <= 0) return 0;
    text[n] = 0;
    char *at = strrchr(text, ')');     // the name may contain any characters
    if (!at || at[2] == 'Z' || at[2] == 'X') return 0;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

bool process_lives(int pid, uint64_t started) { return started && process_started(pid) == started; }

// open_shared finds the slot of this process. The file stays locked until close_shared.
static void open_shared(void) {
    if (!own && (!config.shared_path || !*config.shared_path)) {
        slots = own = &alone;
        return;
    }
    if (!own) {
        file = open(config.shared_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        void *at = MAP_FAILED;
        if (file >= 0 && !ftruncate(file, PROCESSES * sizeof(Slot))) at = mmap(NULL, PROCESSES * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at == MAP_FAILED) {
            note("PSBENCH_DOUBLE_SHARED=%s cannot be mapped", config.shared_path);
            _exit(2);
        }
        slots = at;
    }
    if (file >= 0) flock(file, LOCK_EX);
    for (int n = 0; !own && n < PROCESSES; n++)
        if (!slots[n].pid || !process_lives(slots[n].pid, slots[n].started)) {
            own = &slots[n];
            *own = (Slot){.pid = getpid(), .started = (int64_t)process_started(getpid())};
        }
    if (!own) own = &alone;
}

static void close_shared(void) {
    if (file >= 0) flock(file, LOCK_UN);
}

static int64_t used(int device) {
    if (slots == &alone) return alone.bytes[device];
    int64_t sum = 0;
    for (int n = 0; n < PROCESSES; n++) {
        if (!slots[n].pid) continue;
        // A process that has ended has also freed its memory.
        if (&slots[n] != own && !process_lives(slots[n].pid, slots[n].started)) slots[n] = (Slot){0};
        sum += slots[n].bytes[device];
    }
    return sum;
}

bool shared_charge(int device, int64_t bytes) {
    open_shared();
    bool fits = bytes < 0 || used(device) + bytes <= (int64_t)config.memory_bytes;
    if (fits) own->bytes[device] += bytes;
    close_shared();
    return fits;
}

int64_t shared_used(int device) {
    open_shared();
    int64_t bytes = used(device);
    close_shared();
    return bytes;
}

CUresult shared_claim(int device) {
    if (config.prohibited) return CUDA_ERROR_UNKNOWN; // the documented answer
    if (config.busy) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    open_shared();
    used(device);                      // clears the slots of processes that ended
    bool taken = false;
    for (int n = 0; config.exclusive && slots != &alone && n < PROCESSES; n++)
        taken |= &slots[n] != own && slots[n].pid && slots[n].claims >> device & 1;
    if (!taken) own->claims |= 1 << device;
    close_shared();
    return taken ? CUDA_ERROR_DEVICE_UNAVAILABLE : CUDA_SUCCESS;
}
