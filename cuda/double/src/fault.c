// Common code of every API call: the lock, failures on demand, and the reports of misuse and held resources.
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "double.h"

Held held;
static _Thread_local const char *call_of_thread;
const char *call_name;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int report_file = -1;
static off_t report_end;

void lock(void) {
    pthread_mutex_lock(&mutex);
    call_name = call_of_thread;
}
void unlock(void) { pthread_mutex_unlock(&mutex); }

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void lock_wait(int ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)ms * 1000000;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_cond_timedwait(&changed, &mutex, &until);
    call_name = call_of_thread;
}
void lock_wake(void) { pthread_cond_broadcast(&changed); }

static uint64_t last_call_ns;
int lock_idle_ms(void) { return (int)((device_clock_ns() - last_call_ns) / 1000000); }

void held_changed(void) {
    if (report_file < 0) return;
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "allocations %20lld\nbytes %20lld\nimports %20lld\nhost_allocations %20lld\nregistrations %20lld\nstreams %20lld\nevents %20lld\n"
                     "modules %20lld\ngraphs %20lld\ncontexts %20lld\nlaunches %20lld\ninstructions %20lld\n"
                     "synchronizations %20lld\n"
                     "bytes_in %20lld\nbytes_out %20lld\nmisuses %20lld\nleaks %20lld\n",
                     (long long)held.allocations, (long long)held.bytes, (long long)held.imports, (long long)held.host_allocations,
                     (long long)held.registrations, (long long)held.streams, (long long)held.events, (long long)held.modules,
                     (long long)held.graphs, (long long)held.contexts, (long long)held.launches, (long long)held.instructions, (long long)held.synchronizations,
                     (long long)held.bytes_in, (long long)held.bytes_out, (long long)held.misuses, (long long)held.leaks);
    if (pwrite(report_file, text, n, 0) < 0) report_file = -1;
    if (report_end < n) report_end = n;
}

static void begin(void) {
    config_read();
    if (!config.report_dir || !*config.report_dir) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.txt", config.report_dir, getpid());
    report_file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (report_file < 0) fprintf(stderr, "cuda double: the report %s cannot be written\n", path);
    held_changed();
}

static void say(const char *kind, const char *text) {
    char line[1500];
    int n = snprintf(line, sizeof line, "cuda double: process %d: %s%s%s%s\n", getpid(), call_name ? call_name : "", call_name ? ": " : "", kind, text);
    if (n >= (int)sizeof line) n = sizeof line - 1;
    if (write(2, line, n) < 0) {}
    if (report_file >= 0 && pwrite(report_file, line, n, report_end) > 0) report_end += n;
}

void note(const char *format, ...) {
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say("", text);
}

void misuse(const char *format, ...) {
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    held.misuses++;
    say("misuse: ", text);
    held_changed();
    if (config.exit_code) _exit(config.exit_code);
}

static bool named(const char *spec, size_t length, const char *name) {
    if (!strncmp(spec, name, length) && !name[length]) return true;
    return !strncmp(spec, name, length) && !strncmp(name + length, "_v", 2) && strlen(name) == length + 3;
}

// killed sends this process a signal, unless another process that shares the device has already received it.
static void killed(int signal) {
    char path[4096];
    snprintf(path, sizeof path, "%s.killed", config.shared_path ? config.shared_path : "");
    int file = config.shared_path ? open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600) : 0;
    if (file >= 0) raise(signal);
}

// demanded returns the code that PSBENCH_DOUBLE_FAIL demands for this call.
static CUresult demanded(const char *name) {
    static int counts[64];
    int entry = 0;
    for (const char *spec = config.fail; spec && *spec && entry < 64; entry++) {
        const char *colon = strchr(spec, ':'), *end = strchr(spec, ',');
        int at = -1, code = 0;
        if (!colon) return CUDA_SUCCESS;
        bool each = colon[1] == '*' && sscanf(colon + 1, "*:%d", &code) == 1;
        if (!each && sscanf(colon + 1, "%d:%d", &at, &code) != 2) return CUDA_SUCCESS;
        if (named(spec, colon - spec, name) && (++counts[entry] == at || each)) {
            if (code >= 0) return code;
            killed(-code);
        }
        spec = end ? end + 1 : NULL;
    }
    return CUDA_SUCCESS;
}

// synchronous reports whether a call blocks the host until the device has done something.
static bool synchronous(const char *name) {
    return strstr(name, "Synchronize") || ((!strncmp(name, "cuMemcpy", 8) || !strncmp(name, "cuMemset", 8)) && !strstr(name, "Async"));
}

CUresult enter(const char *name) {
    pthread_once(&once, begin);
    call_of_thread = name;
    lock();
    last_call_ns = device_clock_ns();
    if (synchronous(name)) held.synchronizations++;
    CUresult code = demanded(name);
    bool early = !strcmp(name, "cuInit") || !strcmp(name, "cuDriverGetVersion");
    if (!code && !initialized && !early) code = CUDA_ERROR_NOT_INITIALIZED;
    return code ? leave(code) : CUDA_SUCCESS;
}

// linger sleeps, without the lock, if PSBENCH_DOUBLE_SLOW names this call.
static void linger(const char *name) {
    const char *colon = config.slow ? strchr(config.slow, ':') : NULL;
    if (colon && named(config.slow, colon - config.slow, name)) usleep((useconds_t)atoi(colon + 1));
}

CUresult leave(CUresult result) {
    const char *name = call_of_thread;
    if (config.trace) fprintf(stderr, "cuda double: process %d: %s = %d\n", getpid(), call_of_thread, result);
    held_changed();
    call_of_thread = NULL;
    call_name = NULL;
    unlock();
    linger(name);
    return result;
}

CUresult unsupported(const char *name) {
    CUresult refused = enter(name);
    if (refused) return refused;
    misuse("the double does not have this call");
    return leave(CUDA_ERROR_NOT_SUPPORTED);
}

CUresult outdated(const char *name) {
    CUresult refused = enter(name);
    if (refused) return refused;
    misuse("this is the entry point of an old version of CUDA, whose parameters have other sizes; the one with _v2 is right");
    return leave(CUDA_ERROR_NOT_SUPPORTED);
}

__attribute__((destructor)) static void end(void) {
    if (report_file >= 0) held_changed();
    if (!initialized) return;
    int64_t left = held.allocations + held.imports + held.host_allocations + held.registrations + held.streams + held.events + held.modules + held.graphs;
    if (left) {
        call_name = NULL;
        held.leaks++;
        note("at the end of the process there are %lld allocations (%lld bytes), %lld imports, %lld host allocations, %lld registrations, "
             "%lld streams, %lld events, %lld modules, %lld graphs",
             (long long)held.allocations, (long long)held.bytes, (long long)held.imports, (long long)held.host_allocations, (long long)held.registrations,
             (long long)held.streams, (long long)held.events, (long long)held.modules, (long long)held.graphs);
        held_changed();
        if (config.exit_code) _exit(config.exit_code);
    }
}
