package launchers

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// Variables that indicate other tasks cause only a warning in a process that runs alone.
func TestOthers(t *testing.T) {
	for environ, want := range map[string]string{
		"":                                      "",
		"WORLD_SIZE=4 RANK=1":                   "this process runs alone, but by WORLD_SIZE=4 and RANK=1 (PyTorch) it is one of 4 tasks: docs/launchers.md says how they meet, or set PSBENCH_ALONE=1 to run each task alone",
		"WORLD_SIZE=4":                          "by WORLD_SIZE=4 (PyTorch) it is one of 4 tasks",
		"RANK=1":                                "by RANK=1 (PyTorch) it is one of several tasks",
		"RANK=0":                                "",
		"WORLD_SIZE=1 RANK=0":                   "",
		"WORLD_SIZE=1 RANK=1":                   "",
		"WORLD_SIZE=x RANK=-1":                  "",
		"WORLD_SIZE= 4":                         "",
		"WORLD_SIZE=4 RANK=1 PSBENCH_ALONE=1":   "",
		"WORLD_SIZE=4 RANK=1 PSBENCH_TASKS=1":   "",
		"WORLD_SIZE=4 RANK=0 MASTER_ADDR=node1": "by WORLD_SIZE=4 and RANK=0 (PyTorch)",
		"WORLD_SIZE=4 RANK=0 SLURM_JOB_ID=1 SLURM_PROCID=0":    "by WORLD_SIZE=4 and RANK=0 (PyTorch)",
		"PET_NNODES=2:4 PET_NODE_RANK=1":                       "by PET_NNODES=2 and PET_NODE_RANK=1 (PyTorch)",
		"NODE_RANK=1":                                          "by NODE_RANK=1 (PyTorch) it is one of several tasks",
		"NUM_NODES=2 NODE_RANK=0":                              "by NUM_NODES=2 and NODE_RANK=0 (Lightning)",
		"LOCAL_WORLD_SIZE=2 LOCAL_RANK=0":                      "by LOCAL_WORLD_SIZE=2 and LOCAL_RANK=0 (PyTorch) it is one of 2 tasks",
		"LOCAL_RANK=1":                                         "by LOCAL_RANK=1 (PyTorch) it is one of several tasks",
		"LOCAL_WORLD_SIZE=1 LOCAL_RANK=0":                      "",
		"HOROVOD_SIZE=8 HOROVOD_RANK=3":                        "by HOROVOD_SIZE=8 and HOROVOD_RANK=3 (Horovod) it is one of 8 tasks",
		"PMIX_RANK=1 PMIX_NAMESPACE=x":                         "by PMIX_RANK=1 (PMIx)",
		"MPI_LOCALNRANKS=2 MPI_LOCALRANKID=0":                  "by MPI_LOCALNRANKS=2 and MPI_LOCALRANKID=0 (Hydra)",
		"FLUX_JOB_SIZE=2 FLUX_TASK_RANK=0":                     "(Flux) it is one of 2 tasks",
		"AWS_BATCH_JOB_NUM_NODES=3 AWS_BATCH_JOB_NODE_INDEX=0": "(AWS Batch) it is one of 3 tasks",
		"CLOUD_RUN_TASK_COUNT=1 CLOUD_RUN_TASK_INDEX=0":        "",
		`SM_HOSTS=["algo-1","algo-2"]`:                         `(SageMaker) it is one of 2 tasks`,
		`SM_HOSTS=["algo-1"]`:                                  "",
		"AZ_BATCH_NODE_LIST=10.0.0.4;10.0.0.5":                 "(Azure Batch) it is one of 2 tasks",
		`TF_CONFIG={"cluster":{"chief":["a:1"],"worker":["b:1"],"ps":["c:1"],"evaluator":["d:1"]},"task":{"type":"worker","index":0}}`: "(TensorFlow) it is one of 3 tasks",
		`TF_CONFIG={"cluster":{"worker":["a:1"],"evaluator":["d:1"]},"task":{"type":"worker","index":0}}`:                              "",
		"TF_CONFIG={": "",
		"JOB_COMPLETION_INDEX=0 KUBERNETES_SERVICE_HOST=10.0.0.1":                 "by JOB_COMPLETION_INDEX=0 (Kubernetes) it is one of several tasks: its manifest can say by PSBENCH_TASKS how many there are, or",
		"JOB_COMPLETION_INDEX=0 KUBERNETES_SERVICE_HOST=10.0.0.1 PSBENCH_TASKS=1": "",
	} {
		t.Run(fmt.Sprintf("%.60s", environ), func(t *testing.T) {
			f := Look(System{Environ: strings.Fields(environ), Host: "here",
				ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
			if err := f.Refusal(); err != nil || (f.Lone == "") != (want == "") || !strings.Contains(f.Lone, want) {
				t.Errorf("%s: %v, warns %q, want %q", environ, err, f.Lone, want)
			}
		})
	}
}

// Tasks that cannot find each other or that share a host get an error that says which command to type.
func TestWhatToType(t *testing.T) {
	const mpirun = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 "
	for environ, want := range map[string]string{
		mpirun + "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=4":              "by Open MPI 4 tasks run on this host (OMPI_COMM_WORLD_LOCAL_SIZE=4), but psbench starts all processes of a host by itself: type it without mpirun, as in psbench run --ntrainer 4; PSBENCH_ALONE=1 to run each task alone",
		mpirun + "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2":              "by itself: start one task on each host, as with mpirun --map-by ppr:1:node psbench ...; ",
		mpirun + "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1":              "have no way to find each other: type PSBENCH_SECRET=$(head -c 32 /dev/urandom | base64) mpirun -x PSBENCH_SECRET -x PSBENCH_CORE=here:29417 -n 4 --map-by ppr:1:node psbench ...; PSBENCH_ALONE=1",
		mpirun + "OMPI_COMM_WORLD_RANK=1":                                           "-x PSBENCH_CORE=HOST_OF_RANK_0:29417 -n 4 ",
		"TORCHELASTIC_RUN_ID=a RANK=0 WORLD_SIZE=2 LOCAL_RANK=0":                    "type torchrun ... psbench run --secret-file key;",
		"TORCHELASTIC_RUN_ID=a RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2": "type it without torchrun, as in psbench run --ntrainer 2;",
		"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a KUBERNETES_SERVICE_HOST=10.0.0.1":        "the manifest must give all pods a secret by PSBENCH_SECRET, as deploy/job.yaml does;",
		"PMI_RANK=0 PMI_SIZE=2": "start them by a launcher with PMI-1, as srun --mpi=pmi2, or give all a secret",
	} {
		t.Run(fmt.Sprintf("%.60s", environ), func(t *testing.T) {
			f := Look(System{Environ: strings.Fields(environ), Host: "here",
				ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
			err := f.Crowded()
			if err == nil {
				err = f.Stranded()
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", environ, err, want)
			}
		})
	}
}

// The variables of torch.distributed make a process a task only in a pod or if psbench was given a secret. Other
// launchers take precedence.
func TestTorchDistributed(t *testing.T) {
	const torch, pod = "RANK=1 WORLD_SIZE=4 MASTER_ADDR=job-master-0 ", "KUBERNETES_SERVICE_HOST=10.0.0.1 "
	for environ, want := range map[string]string{
		torch + pod:                "torch.distributed: rank 1 of 4, local rank -1, on here",
		torch + "PSBENCH_SECRET=x": "torch.distributed: rank 1 of 4, local rank -1, on here",
		torch + pod + "LOCAL_RANK=0 PET_NNODES=2 PET_NODE_RANK=0":     "torch.distributed: rank 0 of 2, local rank 0, on here",
		torch + pod + "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0": "Open MPI: rank 0 of 2, local rank -1, on here",
		torch + pod + "PSBENCH_ALONE=1":                               "none: rank 0 of 1, local rank 0, on here",
		"RANK=5 WORLD_SIZE=4 MASTER_ADDR=a " + pod:                    "none: rank 0 of 1, local rank 0, on here",
		"RANK=0 WORLD_SIZE=1 MASTER_ADDR=a " +
			pod: "torch.distributed: rank 0 of 1, local rank -1, on here",
		"RANK=x WORLD_SIZE=4 MASTER_ADDR=a " + pod + "HOROVOD_SIZE=1": "none: rank 0 of 1, local rank 0, on here",
		"TORCHELASTIC_RUN_ID=a RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 " +
			torch: "torchrun: rank 1 of 4, local rank 1, on here",
	} {
		t.Run(fmt.Sprintf("%.60s", environ), func(t *testing.T) {
			f := Look(System{Environ: strings.Fields(environ), Host: "here",
				ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
			if said := told(f); f.Err != nil || !strings.Contains(said, "decides: "+want) ||
				strings.Contains(said, "SECRET=x") {
				t.Errorf("%s: %v, want %s\n%s", environ, f.Err, want, said)
			}
		})
	}
}
