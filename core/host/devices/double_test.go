//go:build nvidia

package devices

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test double of the driver can answer like a working driver and like a faulty one.
func TestDouble(t *testing.T) {
	const cannot = "the CUDA driver does not work: "
	for _, c := range []struct{ environment, want string }{
		{"PSBENCH_DOUBLE_DEVICES=0",
			"the driver finds no device: nvidia-smi says what it sees, and a container needs the devices given to it"},
		{"PSBENCH_DOUBLE_VERSION=10010",
			"the driver serves CUDA 10.1, but psbench needs 11.0 or newer: update the driver"},
		{"PSBENCH_DOUBLE_FAIL=cuInit:1:46",
			cannot + "cuInit gives CUDA_ERROR_DEVICE_UNAVAILABLE, 46: another process uses the device exclusively"},
		{"PSBENCH_DOUBLE_FAIL=cuInit:1:803",
			cannot +
				"cuInit gives CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803: libcuda.so.1 and the kernel's module are of different versions: restart the machine, or give a container the library of its host"},
		{"PSBENCH_DOUBLE_FAIL=cuDeviceGetCount:1:999",
			cannot + "cuDeviceGetCount gives error 999: nvidia-smi says what the driver sees"},
	} {
		name, value, _ := strings.Cut(c.environment, "=")
		t.Run(c.environment, func(t *testing.T) {
			t.Setenv(name, value)
			list, err := probe(t.Context(), time.Minute, 0)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v, %v\nwant %s", list, err, c.want)
			}
		})
	}
	t.Setenv("PSBENCH_DOUBLE_DEVICES", "3")
	t.Setenv("PSBENCH_DOUBLE_CAPABILITY", "9.0")
	t.Setenv("PSBENCH_DOUBLE_MEMORY", "1073741824")
	t.Setenv("PSBENCH_DOUBLE_EXCLUSIVE", "1")
	list, err := probe(t.Context(), time.Minute, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Devices) != 3 || list.Driver < LeastDriver || list.MPS.Known == "" {
		t.Errorf("got %v", list)
	}
	if reached := peersOf(list); reached != "[[] [] []]" {
		t.Errorf("the devices reach %s where the driver says that each reaches its own memory alone", reached)
	}
	free := []int64{1 << 30, 1 << 30, 0} // of the two devices that ranks use
	uuids := map[string]bool{}
	for i, d := range list.Devices {
		if d.Ordinal != i || !strings.HasPrefix(d.Name, "psbench double") || d.Capability != "9.0" ||
			d.MemoryMiB != 1024 || d.FreeBytes != free[i] || d.Mode != Exclusive {
			t.Errorf("got %v", d)
		}
		uuids[d.UUID] = true
	}
	if len(uuids) != 3 {
		t.Errorf("the UUIDs are %v", uuids)
	}
}

// A context is created only if free memory is asked for, and only on devices that ranks use.
func TestContextsAreOfDevicesThatAreUsed(t *testing.T) {
	t.Setenv("PSBENCH_DOUBLE_DEVICES", "3")
	t.Setenv("PSBENCH_DOUBLE_TRACE", "1")
	for ranks := range 3 {
		cmd := exec.Command("/proc/self/exe", Argument, strconv.Itoa(ranks))
		var words strings.Builder
		cmd.Stderr = &words
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "psbench double") {
			t.Fatalf("%v, and it says %s\n%s", err, out, words.String())
		}
		if n := strings.Count(words.String(), "cuDevicePrimaryCtxRetain"); n != ranks {
			t.Errorf("for %d ranks %d contexts are made", ranks, n)
		}
	}
}

// The peers of a device are the devices that the driver reports. A device's peers need not include the device itself.
func TestPeers(t *testing.T) {
	t.Setenv("PSBENCH_DOUBLE_DEVICES", "3")
	t.Setenv("PSBENCH_DOUBLE_PEERS", "0:1,0:2,1:0,1:1")
	list, err := probe(t.Context(), time.Minute, 0)
	if err != nil {
		t.Fatal(err)
	}
	if reached := peersOf(list); reached != "[[1 2] [0] []]" {
		t.Errorf("the devices reach %s", reached)
	}
}

func peersOf(list *List) string {
	var peers [][]int
	for _, d := range list.Devices {
		peers = append(peers, d.Peers)
	}
	return fmt.Sprint(peers)
}
