// An NCCL for tests: groups of one rank, whose all-reduce copies on the host, and of others errors.
#include <stdlib.h>
#include <string.h>

typedef struct { char internal[128]; } id;
struct comm { int ranks, rank, failed; };

int ncclGetVersion(int *version)
{
	*version = 22105;
	return 0;
}

int ncclGetUniqueId(id *of)
{
	for (int i = 0; i < 128; i++)
		of->internal[i] = (char)(i + 1);
	return 0;
}

int ncclCommInitRank(void **comm, int ranks, id of, int rank)
{
	for (int i = 0; i < 128; i++)
		if (of.internal[i] != (char)(i + 1))
			return 4;
	if (rank < 0 || rank >= ranks)
		return 4;
	if (ranks == 2)
		return 5;
	struct comm *c = calloc(1, sizeof *c);
	c->ranks = ranks;
	c->rank = rank;
	*comm = c;
	return 0;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, void *comm, void *stream)
{
	struct comm *c = comm;
	if (type != 7 || (op != 0 && op != 4) || !stream)
		return 4;
	if (c->ranks != 1)
		return c->failed = 6, 0;
	memmove(receive, send, 4 * count);
	return 0;
}

int ncclCommGetAsyncError(void *comm, int *error)
{
	*error = ((struct comm *)comm)->failed;
	return 0;
}

int ncclCommDestroy(void *comm)
{
	free(comm);
	return 0;
}

int ncclCommAbort(void *comm)
{
	free(comm);
	return 0;
}

const char *ncclGetErrorString(int result)
{
	return result == 4 ? "invalid argument" : result == 5 ? "invalid usage" : result == 6 ? "remote process exited" : NULL;
}
