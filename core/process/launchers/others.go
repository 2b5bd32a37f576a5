package launchers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/quote"
)

// signs lists launchers and platforms whose tasks psbench cannot connect, with their variables for size and rank.
// Either variable may be missing.
var signs = []struct{ by, size, rank string }{
	{"PyTorch", "WORLD_SIZE", "RANK"},
	{"PyTorch", "PET_NNODES", "PET_NODE_RANK"},
	{"PyTorch", "LOCAL_WORLD_SIZE", "LOCAL_RANK"},
	{"PyTorch", "NNODES", "NODE_RANK"},
	{"Lightning", "NUM_NODES", "NODE_RANK"},
	{"Horovod", "HOROVOD_SIZE", "HOROVOD_RANK"},
	{"MXNet", "DMLC_NUM_WORKER", "DMLC_WORKER_ID"},
	{"PaddlePaddle", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ID"},
	{"JAX", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"},
	{"MVAPICH", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
	{"Hydra", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
	{"jsrun", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
	{"Flux", "FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
	{"PALS", "PALS_SIZE", "PALS_RANKID"},
	{"aprun", "ALPS_APP_SIZE", "ALPS_APP_PE"},
	{"PMIx", "PMIX_SIZE", "PMIX_RANK"},
	{"AWS Batch", "AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX"},
	{"Cloud Run", "CLOUD_RUN_TASK_COUNT", "CLOUD_RUN_TASK_INDEX"},
	{"SkyPilot", "SKYPILOT_NUM_NODES", "SKYPILOT_NODE_RANK"},
	{"Volcano", "VC_WORKER_NUM", "VC_TASK_INDEX"},
}

// lists contains the variables that list hosts or tasks, each with a function that counts the entries.
var lists = []struct {
	by, name string
	count    func(string) int
}{
	{"TensorFlow", "TF_CONFIG", clusterSize},
	{"Vertex AI", "CLUSTER_SPEC", clusterSize},
	{"SageMaker", "SM_HOSTS", arraySize},
	{"Azure Batch", "AZ_BATCH_NODE_LIST", separated},
	{"Azure Batch", "AZ_BATCH_HOST_LIST", separated},
	{"Cloud TPU", "TPU_WORKER_HOSTNAMES", separated},
	{"Volcano", "VC_WORKER_HOSTS", separated},
}

// others returns a warning if variables indicate other tasks although this process runs alone. others returns "" if
// there are no such variables. Such variables may be left over in a shell, so they only cause a warning. A count of one
// is ignored.
func (r *reader) others() string {
	if tasks, _ := r.text(option.TasksVariable); tasks == "1" {
		return ""
	}
	const index = "JOB_COMPLETION_INDEX"
	_, pod := r.text("KUBERNETES_SERVICE_HOST")
	if n, err := r.number(index); pod && err == nil && n >= 0 {
		return lone("Kubernetes", 0, fmt.Sprintf("%s=%d",
			index, n), "its manifest can say by "+option.TasksVariable+" how many there are")
	}
	for _, s := range signs {
		size, rank := r.count(s.size), r.count(s.rank)
		if size <= 1 && (size == 1 || rank <= 0) {
			continue
		}
		var read []string
		if size > 1 {
			read = append(read, fmt.Sprintf("%s=%d", s.size, size))
		}
		if rank >= 0 {
			read = append(read, fmt.Sprintf("%s=%d", s.rank, rank))
		}
		return lone(s.by, max(size, 0), strings.Join(read, " and "), "")
	}
	for _, l := range lists {
		value, _ := r.text(l.name)
		if n := l.count(value); n > 1 {
			return lone(l.by, n, l.name+"="+quote.Word(value), "")
		}
	}
	return ""
}

// lone returns the warning for a task that runs alone.
func lone(by string, size int, read, help string) string {
	of := "several tasks"
	if size > 0 {
		of = fmt.Sprintf("%d tasks", size)
	}
	return fmt.Sprintf(
		"this process runs alone, but by %s (%s) it is one of %s: %s, or set %s=1 to run each task alone",
		read, by, of, cmp.Or(help, "docs/launchers.md says how they meet"), option.OverrideVariable)
}

// count returns the value of a variable that contains a count, or -1 if it contains none. For a range, as in 2:4, count
// returns the lower bound.
func (r *reader) count(name string) int {
	value, _ := r.text(name)
	value, _, _ = strings.Cut(strings.TrimSpace(value), ":")
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil || n > most {
		return -1
	}
	return int(n) // #nosec G115 -- at most 1<<24
}

// clusterSize counts the tasks in TensorFlow's description of a cluster, except the evaluator.
func clusterSize(text string) int {
	var config struct {
		Cluster map[string][]string `json:"cluster"`
	}
	if json.Unmarshal([]byte(text), &config) != nil {
		return 0
	}
	n := 0
	for job, addresses := range config.Cluster {
		if job != "evaluator" {
			n += len(addresses)
		}
	}
	return n
}

func arraySize(text string) int {
	var hosts []string
	if json.Unmarshal([]byte(text), &hosts) != nil {
		return 0
	}
	return len(hosts)
}

func separated(text string) int {
	return len(strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",; ", c) }))
}
