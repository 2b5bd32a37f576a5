package result

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// GPU describes a device as nvidia-smi reports it.
type GPU struct {
	Name      string `json:"name"`
	Driver    string `json:"driver"` // version of the driver
	MemoryMiB int64  `json:"memory_mib"`
}

// nvidiaTimeout limits nvidia-smi, which may hang if the driver has a problem.
const nvidiaTimeout = 2 * time.Second

// captureGPUs asks nvidia-smi for the devices and their interconnect. captureGPUs returns none if nvidia-smi is
// missing, fails or exceeds the timeout.
func captureGPUs(timeout time.Duration) ([]GPU, string) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	list, err := nvidia(ctx, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
	gpus := parseGPUs(list)
	if err != nil || len(gpus) == 0 {
		return []GPU{}, ""
	}
	topology, err := nvidia(ctx, "topo", "-m")
	if err != nil {
		topology = ""
	}
	return gpus, plainText(topology)
}

func nvidia(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nvidia-smi", args...) // #nosec G204 -- constant arguments
	// A child process may keep the output open after nvidia-smi was killed.
	cmd.WaitDelay = 100 * time.Millisecond
	out, err := cmd.Output()
	return string(out), err
}

// parseGPUs parses lines such as "NVIDIA H100 80GB HBM3, 550.54.15, 81559 MiB". parseGPUs skips other lines.
func parseGPUs(list string) []GPU {
	var gpus []GPU
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSpace(line), ", ")
		if len(fields) != 3 {
			continue
		}
		mib, err := strconv.ParseInt(strings.TrimSuffix(fields[2], " MiB"), 10, 64)
		if err != nil || mib < 0 {
			continue
		}
		gpus = append(gpus, GPU{Name: fields[0], Driver: fields[1], MemoryMiB: mib})
	}
	return gpus
}

// escapes matches the terminal sequences that underline the heading.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func plainText(s string) string {
	return strings.TrimRight(escapes.ReplaceAllString(s, ""), " \t\r\n")
}
