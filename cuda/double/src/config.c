// Reads the environment, and makes random choices from its seed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "double.h"

Config config;
static uint64_t sequence;

static uint64_t number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    if (!text || !*text) return otherwise;
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*end == 'e') value = (uint64_t)strtod(text, &end);
    if (!*end) return value;
    fprintf(stderr, "cuda double: %s=%s is no number\n", name, text);
    _exit(2);
}

// read_peers reads pairs A:B, meaning that device A reaches device B.
static void read_peers(const char *pairs) {
    int device, peer, length;
    for (const char *at = pairs; at && *at; at += length + (at[length] == ',')) {
        if (sscanf(at, "%2d:%2d%n", &device, &peer, &length) != 2 || device < 0 || device > 15 || peer < 0 || peer > 15) {
            fprintf(stderr, "cuda double: PSBENCH_DOUBLE_PEERS=%s is no list of pairs A:B of devices, of 0 to 15\n", pairs);
            _exit(2);
        }
        config.reaches[device] |= (uint16_t)(1u << peer);
    }
}

void config_read(void) {
    const char *policy = getenv("PSBENCH_DOUBLE_STREAMS"), *exclusive = getenv("PSBENCH_DOUBLE_EXCLUSIVE");
    const char *capability = getenv("PSBENCH_DOUBLE_CAPABILITY"), *lost = getenv("PSBENCH_DOUBLE_LOST");
    config = (Config){
        .seed = number("PSBENCH_DOUBLE_SEED", 1),
        .memory_bytes = number("PSBENCH_DOUBLE_MEMORY", 8ull << 30),
        .steps = number("PSBENCH_DOUBLE_STEPS", 40000000000ull),
        .devices = (int)number("PSBENCH_DOUBLE_DEVICES", 1),
        .version = (int)number("PSBENCH_DOUBLE_VERSION", 11080),
        .idle_ms = (int)number("PSBENCH_DOUBLE_IDLE_MS", 100),
        .exit_code = (int)number("PSBENCH_DOUBLE_EXIT", 0),
        .races = number("PSBENCH_DOUBLE_RACES", 1) != 0,
        .strict = number("PSBENCH_DOUBLE_STRICT", 0) != 0,
        .trace = number("PSBENCH_DOUBLE_TRACE", 0) != 0,
        .registers_read_only = number("PSBENCH_DOUBLE_READ_ONLY", 0) != 0,
        .clock_ppm = number("PSBENCH_DOUBLE_CLOCK_PPM", 50),
        .capability = 80,
        .policy = RANDOM,
        .lost_code = CUDA_ERROR_UNKNOWN,
        .shared_path = getenv("PSBENCH_DOUBLE_SHARED"),
        .report_dir = getenv("PSBENCH_DOUBLE_REPORT"),
        .fail = getenv("PSBENCH_DOUBLE_FAIL"),
        .slow = getenv("PSBENCH_DOUBLE_SLOW"),
    };
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && !*visible) config.devices = 0;
    if (config.devices > 16) config.devices = 16;
    int major, minor;
    if (capability && sscanf(capability, "%d.%d", &major, &minor) == 2) config.capability = major * 10 + minor;
    read_peers(getenv("PSBENCH_DOUBLE_PEERS"));
    if (lost) sscanf(lost, "%d:%d", &config.lost_at, &config.lost_code);
    config.busy = exclusive && !strcmp(exclusive, "busy");
    config.exclusive = config.busy || (exclusive && !strcmp(exclusive, "1"));
    config.prohibited = exclusive && !strcmp(exclusive, "prohibited");
    if (policy && *policy) {
        static const char *names[] = {"latest", "earliest", "random"};
        int n = 0;
        while (n < 3 && strcmp(names[n], policy)) n++;
        if (n == 3) {
            fprintf(stderr, "cuda double: PSBENCH_DOUBLE_STREAMS=%s is neither latest, earliest nor random\n", policy);
            _exit(2);
        }
        config.policy = (Policy)n;
    }
    sequence = config.seed;
}

static uint64_t mix(uint64_t z) {      // the finalizer of splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint64_t random_next(void) { return mix(sequence += 0x9e3779b97f4a7c15ull); }
uint64_t random_hash(uint64_t value) { return mix(mix(config.seed + 0x9e3779b97f4a7c15ull) ^ value); }
