//go:build nvidia

package driver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/psbench/psbench/cuda/driver"
)

// cards prints both devices' information, and errors of a graph's life and of an allocation's size on the second
// device.
func cards() error {
	first, err := driver.Open(0)
	if err != nil {
		return err
	}
	second, err := driver.Open(1)
	if err != nil {
		return err
	}
	_, none := driver.Open(2)
	fmt.Println(first.Device().UUID[len("GPU-"):], second.Device().UUID[len("GPU-"):],
		second.Device().ComputeCapability, none)
	return errors.Join(emptyGraph(second), sizeOf(second), second.Close(), first.Close())
}

// emptyGraph creates a graph and destroys it completely.
func emptyGraph(c *driver.Context) error {
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	if err := s.BeginCapture(); err != nil {
		return err
	}
	graph, err := s.EndCapture()
	if err != nil {
		return err
	}
	return errors.Join(graph.Instantiate(), graph.Destroy(), s.Destroy())
}

func sizeOf(c *driver.Context) error {
	const size = 4096
	memory, err := c.Alloc(size)
	if err != nil {
		return err
	}
	if bytes, err := c.SizeOf(memory); err != nil || bytes != size {
		return fmt.Errorf("an allocation of %d bytes has %d, %w", size, bytes, err)
	}
	return c.Free(memory)
}

// Devices are distinguishable, and at its end a process has nothing left allocated.
func TestCards(t *testing.T) {
	onDouble(t)
	dir := t.TempDir()
	stdout, stderr, status := child(t, "cards", "", "PSBENCH_DOUBLE_DEVICES=2", "PSBENCH_DOUBLE_CAPABILITY=8.6",
		"PSBENCH_DOUBLE_REPORT="+dir)
	const want = `^\S+00 \S+01 8\.6 there is no device cuda:2: the driver shows 2, numbered from 0$`
	if status != 0 || !regexp.MustCompile(want).MatchString(stdout) {
		t.Errorf("it ends with %d and says %q, %q", status, stdout, stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are reports %v, %v", files, err)
	}
	report, err := os.ReadFile(files[0])
	check(t, err)
	for _, count := range []string{"contexts", "graphs", "streams", "allocations", "misuses"} {
		if !regexp.MustCompile(`(?m)^` + count + ` +0$`).Match(report) {
			t.Errorf("%s are left:\n%s", count, report)
		}
	}
}
