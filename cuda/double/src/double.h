// The double of the CUDA driver: the types and functions that its files share.
//
// The double is a libcuda.so.1 for tests. It runs PTX on the CPU and checks more than a device: every memory
// access, and every order that nothing enforces. One lock guards all state. Each call of the driver API takes it;
// functions without ENTER are called with the lock held. docs/double.md lists what the double cannot show.
//
// Environment (each is read once, at the first call):
//   PSBENCH_DOUBLE_SEED=N          seed of every random choice (1)
//   PSBENCH_DOUBLE_STREAMS=P       latest: work runs only when something waits for it; earliest: at once; random (default)
//   PSBENCH_DOUBLE_IDLE_MS=N       after N ms without a call pending work runs all the same, so that nothing hangs (100)
//   PSBENCH_DOUBLE_DEVICES=N       count of devices (1); 0, or an empty CUDA_VISIBLE_DEVICES: cuInit answers CUDA_ERROR_NO_DEVICE
//   PSBENCH_DOUBLE_MEMORY=BYTES    memory of each device (8 GiB)
//   PSBENCH_DOUBLE_CAPABILITY=X.Y  compute capability (8.0)
//   PSBENCH_DOUBLE_VERSION=N       version of the driver (11080); below 9000 PTX 6.0 is refused
//   PSBENCH_DOUBLE_SHARED=FILE     processes that name the same file share the devices: memory is counted over all
//   PSBENCH_DOUBLE_EXCLUSIVE=1     one process per device (by FILE); busy: some other process has it; prohibited: nobody may use it
//   PSBENCH_DOUBLE_PEERS=A:B,...   device A says that it reaches the memory of device B; nothing is mapped all the same
//   PSBENCH_DOUBLE_FAIL=NAME:N:CODE,...  call N of NAME (from 1; * is each) answers CODE, e.g. cuMemAlloc_v2:3:2
//   PSBENCH_DOUBLE_LOST=N[:CODE]   the device is lost at launch N of this process: everything then answers CODE (999)
//   PSBENCH_DOUBLE_RACES=0         conflicting accesses are not looked for (faster)
//   PSBENCH_DOUBLE_STEPS=N         a launch of more than N instructions of warps is CUDA_ERROR_LAUNCH_TIMEOUT (4e10)
//   PSBENCH_DOUBLE_STRICT=1        freeing and unregistering memory do not wait for pending work, which then finds it gone
//   PSBENCH_DOUBLE_REPORT=DIR      each process keeps DIR/PID.txt: what it holds now and every misuse, also after it is killed
//   PSBENCH_DOUBLE_EXIT=CODE       any misuse, or a context destroyed with things in it, ends the process with CODE
//   PSBENCH_DOUBLE_TRACE=1         each call goes to stderr
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct Context *CUcontext;
typedef struct Stream *CUstream;
typedef struct Event *CUevent;
typedef struct Module *CUmodule;
typedef struct Function *CUfunction;
typedef struct Graph *CUgraph;
typedef struct Node *CUgraphNode;
typedef struct GraphExec *CUgraphExec;
typedef void (*CUhostFn)(void *);

enum {
    CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_MAP_FAILED = 205, CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217, CUDA_ERROR_INVALID_PTX = 218, CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_FILE_NOT_FOUND = 301, CUDA_ERROR_INVALID_HANDLE = 400, CUDA_ERROR_ILLEGAL_STATE = 401,
    CUDA_ERROR_NOT_FOUND = 500, CUDA_ERROR_NOT_READY = 600, CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708, CUDA_ERROR_CONTEXT_IS_DESTROYED = 709, CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715, CUDA_ERROR_MISALIGNED_ADDRESS = 716, CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_PERMITTED = 800, CUDA_ERROR_NOT_SUPPORTED = 801, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904, CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906, CUDA_ERROR_CAPTURED_EVENT = 907,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908, CUDA_ERROR_UNKNOWN = 999,
};

// ---- configuration (config.c)

typedef enum { LATEST, EARLIEST, RANDOM } Policy;

typedef struct {
    uint64_t seed, memory_bytes, steps;
    Policy policy;
    int devices, capability, version, idle_ms, exit_code, lost_at, lost_code;
    bool races, strict, trace, exclusive, busy, prohibited, registers_read_only;
    uint64_t clock_ppm;
    uint16_t reaches[16];              // bit mask by device: the devices whose memory it claims to reach
    const char *shared_path, *report_dir, *fail, *slow;
} Config;

extern Config config;
void config_read(void);
uint64_t random_next(void);            // next value of the one seeded sequence
uint64_t random_hash(uint64_t value);  // depends only on seed and value

// ---- faults (fault.c)

#define API __attribute__((visibility("default")))
#define ENTER()                                              \
    do {                                                     \
        CUresult refused_ = enter(__func__);                 \
        if (refused_) return refused_;                       \
    } while (0)
#define ENTER_CONTEXT()                                      \
    ENTER();                                                 \
    do {                                                     \
        CUresult refused_ = context_usable();                \
        if (refused_) return leave(refused_);                \
    } while (0)

CUresult enter(const char *name);
CUresult leave(CUresult result);
void unlock(void);                     // before code outside the double, such as host functions; lock() takes it again
void lock(void);
void lock_wait(int ms);                // releases the lock until lock_wake, at most for ms
void lock_wake(void);
int lock_idle_ms(void);                // time since the last call
extern const char *call_name;          // the call that holds the lock; NULL for the thread of schedule.c
// reports and counts a misuse, and exits if EXIT is set
void misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));     // only reports
CUresult unsupported(const char *name);
CUresult outdated(const char *name);

typedef struct {
    int64_t allocations, bytes, imports, host_allocations, registrations, streams, events, modules, graphs, contexts;
    // calls that block the host until work is done
    int64_t synchronizations;
    int64_t launches, instructions, bytes_in, bytes_out, misuses, leaks;   // bytes copied to the device and from it
} Held;
extern Held held;
void held_changed(void);               // writes the report of this process

// ---- contexts (context.c, device.c)

typedef struct Op Op;
typedef struct Stream Stream;
typedef struct Event Event;
typedef struct Module Module;
typedef struct Function Function;

struct Context {
    struct Context *next;
    int device, retained, failed;      // failed: the sticky error that every call returns
    unsigned flags;
    bool primary, destroyed;
    Stream *streams, *legacy;          // the list includes the legacy default stream
    Module *modules;
    Event *events;
    int captures;                      // captures under way on all its streams
};
typedef struct Context Context;

extern Context *contexts;
extern bool initialized;
Context *context_current(void);
CUresult context_usable(void);         // CUDA_SUCCESS if the current context exists and has not failed
void context_fail(Context *, int code);
void device_lost(void);
int devices_lost(void);                // error code if they are lost

// ---- memory (memory.c, host.c)

typedef enum { ALLOCATED, IMPORTED } AllocationKind;
typedef struct {
    uint64_t base, bytes, serial;
    Context *context;
    AllocationKind kind;
    int device, opened, export;        // opened: open count of this import; export: index in the control page, or -1
    char handle[64];
} Allocation;

typedef struct {
    uint64_t base, bytes;              // whole pages
    uint64_t given;                    // start of the memory that was registered or allocated
    bool allocated, read_only;         // allocated: by the driver, otherwise registered
    Context *context;
} HostRange;
typedef enum { PAGEABLE, PARTLY, PINNED } Pinning;

enum { PAGE = 4096 };
#define DEVICE_SPACE (1ull << 38)      // addresses of each device
#define SHARED_WINDOW (1ull << 24)     // start of the first device's addresses; generic addresses of shared memory
#define LOCAL_WINDOW (2ull << 24)      // generic addresses of local memory

extern uint64_t space_base;            // start of all devices' addresses, which are inaccessible
extern int64_t space_delta;            // device address + space_delta = address of its bytes
extern int memory_files[16];           // the file of each device's bytes
bool memory_prepare(void);
Allocation *memory_allocate(Context *, uint64_t bytes, CUresult *);
void memory_free(Allocation *);
Allocation *memory_find(uint64_t address);
Allocation *memory_place(Context *, uint64_t bytes);   // reserves addresses without bytes
const char *memory_describe(uint64_t address, char text[256]);
void memory_release_all(Context *);
Allocation *import_find(Context *, const char handle[64]);
int memory_count(Context *);
static inline void *memory_bytes(uint64_t address) { return (void *)(address + space_delta); }
static inline bool memory_is_device(uint64_t a) { return a >= space_base && a < space_base + config.devices * DEVICE_SPACE; }
HostRange *host_find(uint64_t address, uint64_t bytes);   // the range that contains all these bytes
Pinning host_pinning(uint64_t address, uint64_t bytes);
int host_count(Context *);              // allocations and registrations
void host_release_all(Context *);

// ---- work: what streams and graphs do (work.c)

typedef enum { KERNEL, COPY, FILL, RECORD, WAIT, HOST, GRAPH, NOTHING } WorkKind;
typedef struct {
    uint64_t address;
    uint64_t pitch;
    bool host;
} Place;
typedef struct {
    WorkKind kind;
    union {
        struct { Function *function; unsigned grid[3], block[3], shared; uint8_t *params; } kernel;
        // pinned: host memory is pinned, and must still be when it runs
        struct { Place to, from; uint64_t width, height; uint8_t *staged; bool pinned; } copy;
        struct { Place to; uint64_t width, height; unsigned value; int size; } fill;   // width in values of size bytes
        // RECORD and WAIT of interprocess events
        struct { struct EventPage *page; uint32_t sequence; int pid; } signal;
        struct { CUhostFn call; void *data; } host;
        struct GraphExec *graph;
    };
} Work;
CUresult work_run(Context *, Work *);
void work_drop(Work *);                // frees its resources
// checks the bounds of a copy or fill, on request and when it runs
CUresult copy_check(Context *, const Work *);

// ---- streams and events (stream.c, schedule.c, event.c)

struct Op {
    Op *next;
    Stream *stream;
    Op **after;                        // runs after these
    int after_count, references;
    bool done, running;
    uint64_t time_ns;                  // end time on the device's clock
    Work work;
};

struct Stream {
    Stream *next;
    Context *context;
    Op *head, *tail;
    bool legacy, blocking, destroyed;
    unsigned flags;
    int priority, queries;
    uint64_t serial;
    struct Capture *capture;           // capture under way
    struct Node **frontier;            // nodes before the next node of the capture
    int frontier_count;
};

typedef struct EventPage {             // memory that processes share
    uint32_t used, recorded, done, wanted;
} EventPage;

struct Event {
    Event *next;
    Context *context;
    unsigned flags;
    Op *last;                          // newest record of the event
    EventPage *page;                   // page of an interprocess event
    int owner;                         // pid of the process that made it
    bool imported;
    uint32_t sequence;                 // sequence number of last, in page
    struct Capture *capture;           // recorded in a capture; last is then invalid
    uint64_t capture_id;
    struct Node **frontier;
    int frontier_count, queries;
};

enum { EVENT_BLOCKING_SYNC = 1, EVENT_DISABLE_TIMING = 2, EVENT_INTERPROCESS = 4 };
CUresult stream_of(CUstream handle, Stream **);
bool event_exists(CUevent);
CUresult event_create(Context *, unsigned flags, Event **);
Op *op_enqueue(Stream *, Work);        // takes over the work; the caller gets a reference
void op_after(Op *, Op *before);
void op_release(Op *);
// enqueues the work or adds it to the capture, then applies the policy
CUresult stream_submit(Stream *, Work);
CUresult op_wait(Context *, Op *);     // waits until it is done; returns the context's failure, if any
CUresult stream_wait(Stream *);
CUresult context_wait(Context *);
void schedule_tick(Context *);         // called after something was enqueued
void schedule_query(Context *, Op *wanted, int *queries);
void schedule_start(void);             // starts the thread for other processes' requests and for idle times
uint64_t device_clock_ns(void);
void stream_free(Stream *);
void events_release_all(Context *);

// ---- capture and graphs (capture.c, graph.c)

typedef struct Node {
    Work work;
    struct Node **after;
    int after_count, index;
} Node;
typedef struct Graph {
    Node **nodes;
    int count;
} Graph;
typedef struct GraphExec {
    Graph graph;
    int references;
    bool destroyed;
} GraphExec;
typedef struct Capture {
    Graph *graph;
    Stream *origin;
    Context *context;
    int mode, status;                  // status 1: active, 2: invalidated
    pthread_t thread;
    uint64_t id;
    int joined;                        // number of streams in it
} Capture;

CUresult capture_add(Stream *, Work);
CUresult capture_wait(Stream *, Event *);
void capture_record(Stream *, Event *);
CUresult capture_refuse(Stream *);     // refuses a call that a capturing stream does not allow
bool capture_forbids(Context *);       // whether the call is forbidden during any capture
CUresult graph_run(Context *, GraphExec *);
void graph_release(GraphExec *);
void graph_free(Graph *);
void graph_made(Graph *);              // registers it as known to the API
Node *graph_add(Graph *, Work, Node **after, int count);

// ---- interprocess (ipc.c, shared.c)

bool shared_charge(int device, int64_t bytes);         // false if the device lacks the memory
int64_t shared_used(int device);
CUresult shared_claim(int device);     // checks the exclusive mode
bool process_lives(int pid, uint64_t started);
uint64_t process_started(int pid);
void ipc_freed(Allocation *);
void ipc_close(Allocation *);
bool ipc_event_make(Event *);
void ipc_event_free(Event *);
bool ipc_satisfied(const Work *);
bool ipc_wanted(Event *);

// ---- modules (module.c)

#include "program.h"

struct Function {
    Module *module;
    Program *program;
    int max_dynamic_shared;
};
struct Module {
    Module *next;
    Context *context;
    Unit *unit;
    Function *functions;
    Allocation **variables;            // memory of unit->variables on the device
};
void module_free(Module *);

// launch_run runs a kernel on the CPU. launch_run reports a fault and returns its code (launch.c).
CUresult launch_run(Context *, const Work *);
