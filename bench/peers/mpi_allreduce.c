/* MPI allreduce (sum, float32, in place), back to back: one JSON line per size.
 * Build: mpicc -O2 -o mpi_allreduce mpi_allreduce.c
 * Run:   mpirun -n 2 ./mpi_allreduce [seconds-per-size [bytes ...]]
 * FRESH=1 in the environment: new values and a barrier before each round, both untimed. */
#include <mpi.h>
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
    library[strcspn(library, ",\"\\\n")] = 0;             /* its first words name it */
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
                    for (int i = 0; i < n; i++) x[i] = (float)(r & 7);
                    MPI_Barrier(MPI_COMM_WORLD);
                }
                double t = MPI_Wtime();
                MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                lat[r] = MPI_Wtime() - t;
            }
            float want_sum = fresh ? (float)(world * ((rounds - 1) & 7)) : 0;
            if (n > 0 && (x[0] != want_sum || x[n - 1] != want_sum)) {
                fprintf(stderr, "wrong sum: %g instead of %g\n", x[0], want_sum);
                MPI_Abort(MPI_COMM_WORLD, 1);
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
