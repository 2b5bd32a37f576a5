// Failures that the environment requests, one per run: driver.c CASE prints the result codes of some calls.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

int main(int count, char **arguments) {
    TRUE(count == 3, "two arguments");
    const char *name = arguments[2];
    void *context, *module;
    if (!strcmp(name, "init")) {
        int version = 0;
        printf("%d ", cuInit(0));
        printf("%d ", cuDriverGetVersion(&version));
        printf("%d\n", version);
    } else if (!strcmp(name, "context")) {
        OK(cuInit(0));
        int mode;
        OK(cuDeviceGetAttribute(&mode, 20, 0));
        printf("%d %d\n", mode, cuDevicePrimaryCtxRetain(&context, 0));
    } else if (!strcmp(name, "exclusive")) {
        begin();
        pid_t child = fork();
        if (!child) {
            execl("/proc/self/exe", arguments[0], arguments[1], "context", NULL);
            _exit(1);
        }
        int status;
        waitpid(child, &status, 0);
    } else if (!strcmp(name, "load")) {
        begin();
        char *text = calloc(1, 1 << 20);
        FILE *file = fopen(arguments[1], "r");
        TRUE(fread(text, 1, 1 << 20, file) > 0, "%s", arguments[1]);
        printf("%d\n", cuModuleLoadData(&module, text));
    } else if (!strcmp(name, "allocations")) {
        begin();
        for (int n = 0; n < 4; n++) {
            Pointer p;
            printf("%d ", cuMemAlloc_v2(&p, 1 << 20));
        }
        printf("\n");
    } else if (!strcmp(name, "launches")) {
        begin();
        Pointer x = device(400);
        void *f = function(load(arguments[1]), "writes_at");
        for (int n = 0; n < 4; n++) {
            int launched = LAUNCH(f, 1, 32, NULL, &x, ARGUMENT(0l));
            printf("%d ", launched ? launched : cuCtxSynchronize());
        }
        printf("\n");
    } else if (!strcmp(name, "memory")) {
        // Free memory takes other processes into account. The memory of a killed process becomes free again.
        begin();
        size_t before, with, after, total;
        OK(cuMemGetInfo_v2(&before, &total));
        int ready[2];
        TRUE(!pipe(ready), "pipe");
        pid_t child = fork();
        if (!child) {
            dup2(ready[1], 1);
            execl("/proc/self/exe", arguments[0], arguments[1], "holder", NULL);
            _exit(1);
        }
        char byte;
        TRUE(read(ready[0], &byte, 1) == 1, "no answer of the child");
        OK(cuMemGetInfo_v2(&with, &total));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        OK(cuMemGetInfo_v2(&after, &total));
        printf("%zu %zu %zu\n", total, before - with, before - after);
    } else if (!strcmp(name, "holder")) {
        begin();
        device(3 << 20);
        TRUE(write(1, "x", 1) == 1, "write");
        pause();
    } else TRUE(false, "no case %s", name);
    return 0;
}
