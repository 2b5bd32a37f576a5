#ifndef PSBENCH_EARLY_H
#define PSBENCH_EARLY_H

#include <cuda.h>

// psb_start calls the driver's cuInit.
CUresult psb_start(void);

#endif
