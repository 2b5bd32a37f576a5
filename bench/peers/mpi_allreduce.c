/* MPI allreduce (sum, float32, in place), back to back: one JSON line per size.
 * Build: mpicc -O2 -o mpi_allreduce mpi_allreduce.c
 * Run:   mpirun -n 2 ./mpi_allreduce [seconds-per-size [bytes ...]]
 * With FRESH=1 in the environment, each round begins with new values and a barrier, and ends with
 * another barrier and a check of every element. These steps are untimed, as in psbench comm. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(const double *v, int n, double q) {
    double pos = (n - 1) * q;
    int lo = (int)pos, hi = lo + 1 < n ? lo + 1 : lo;
    return v[lo] + (v[hi] - v[lo]) * (pos - lo);
}

/* The values of psbench comm: a hash of rank, round and index. They are whole numbers from -1024
 * to 1023, so a float holds their sums exactly. */
static uint64_t key_of(int rank, int round) {
    uint64_t x = (uint64_t)(rank + 1) * 0xBF58476D1CE4E5B9u ^ (uint64_t)(round + 1) * 0x94D049BB133111EBu;
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

static int value_of(uint64_t key, int i) {
    return (int)((((uint64_t)i * 0x9E3779B97F4A7C15u) ^ key) * 0xD6E8FEB86659FD93u >> 53) - 1024;
}

static void fill(float *x, int n, int rank, int round) {
    uint64_t key = key_of(rank, round);
    for (int i = 0; i < n; i++) x[i] = (float)value_of(key, i);
}

/* Ends all ranks at the first element that differs from the sum of all ranks' values. */
static void verify(const float *x, int n, int world, int round) {
    for (int from = 0; from < n; from += 512) {
        int sums[512] = {0}, to = n - from < 512 ? n - from : 512;
        for (int rank = 0; rank < world; rank++) {
            uint64_t key = key_of(rank, round);
            for (int i = 0; i < to; i++) sums[i] += value_of(key, from + i);
        }
        for (int i = 0; i < to; i++)
            if (x[from + i] != (float)sums[i]) {
                fprintf(stderr, "element %d of round %d is %g instead of %d\n", from + i, round, x[from + i], sums[i]);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
    }
}

int main(int argc, char **argv) {
    static const long usual[] = {4096, 65536, 1 << 20, 4 << 20, 25 << 20, 64 << 20};
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return puts("usage: mpirun -n RANKS mpi_allreduce [seconds-per-size [bytes ...]]"), 0;
    int rank, world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    int fresh = getenv("FRESH") != NULL, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\"\\\n")] = 0;             /* keeps the library's name */
    for (char *c = library; *c; c++) if (*c < ' ') *c = ' ';
    double budget = argc > 1 ? atof(argv[1]) : 2.0;
    int sizes = argc > 2 ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    for (int s = 0; s < sizes; s++) {
        long bytes = argc > 2 ? atol(argv[2 + s]) : usual[s];
        int n = (int)(bytes / 4), rounds = 5;
        float *x = malloc(bytes);
        double *lat = NULL;
        for (int i = 0; i < n; i++) x[i] = 0;
        for (int phase = 0; phase < 2; phase++) {           /* pilot, then measured */
            lat = realloc(lat, rounds * sizeof *lat);
            MPI_Barrier(MPI_COMM_WORLD);
            for (int r = 0; r < rounds; r++) {
                if (fresh) {
                    fill(x, n, rank, r);
                    MPI_Barrier(MPI_COMM_WORLD);
                }
                double t = MPI_Wtime();
                MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                lat[r] = MPI_Wtime() - t;
                if (fresh) {
                    MPI_Barrier(MPI_COMM_WORLD);
                    verify(x, n, world, r);
                }
            }
            if (phase == 0) {
                qsort(lat, rounds, sizeof *lat, ascending);
                double want = budget / lat[0];
                rounds = want < 20 ? 20 : want > 20000 ? 20000 : (int)want;
                MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
            }
        }
        double *all = rank == 0 ? malloc((size_t)world * rounds * sizeof *all) : NULL;
        MPI_Gather(lat, rounds, MPI_DOUBLE, all, rounds, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            qsort(all, world * rounds, sizeof *all, ascending);
            double p50 = quantile(all, world * rounds, .5), p95 = quantile(all, world * rounds, .95);
            printf("{\"peer\":\"mpi_allreduce\",\"world\":%d,\"bytes\":%ld,\"fresh\":%d,\"rounds\":%d,\"min_ms\":%.6f,"
                   "\"p50_ms\":%.6f,\"p95_ms\":%.6f,\"busbw_GBps\":%.4f,\"library\":\"%s\"}\n", world, bytes, fresh, rounds,
                   all[0] * 1e3, p50 * 1e3, p95 * 1e3, 2.0 * (world - 1) / world * bytes / p50 / 1e9,
                   library);
            fflush(stdout);
        }
        free(all), free(lat), free(x);
    }
    MPI_Finalize();
    return 0;
}
