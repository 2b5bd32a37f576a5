// Package environment writes where a run took place, as text: its machine, processes, hosts and links, and other load
// on the CPUs.
package environment

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// widest is the maximum width of the GPU topology, in columns.
const widest = 120

// Information writes the build and the machine.
func Information(w *screen.Page, e result.Environment) {
	w.Title("information")
	w.Labelled("psbench", fmt.Sprintf("%s, commit %s, %s, %s/%s, kernel %s", e.Psbench, e.Commit, e.Go, e.OS, e.Arch,
		e.Kernel))
	w.Labelled("CPU", fmt.Sprintf("%s, %s, kernels %s", e.CPU, screen.Count(e.Cores, "core"), e.SIMD))
	w.Labelled("", tuning(e.Facts))
	w.Labelled("memory", fmt.Sprintf("%d MiB%s", e.MemoryMiB, bandwidth(e.Copy)))
	w.Labelled("limits", limits(e.Limits))
	for _, b := range e.BLAS {
		w.Labelled("BLAS", quote.Message(describeBLAS(b))) // quoted because plugins report the name
	}
	for _, g := range e.GPUs {
		w.Labelled("GPU", fmt.Sprintf("%s, %d MiB, driver %s", g.Name, g.MemoryMiB, g.Driver))
	}
	if len(e.GPUs) == 0 {
		w.Labelled("GPU", "no GPU")
	}
	cuda(w, e.CUDA)
	topology(w, e.GPUTopology)
	w.Line(0, "")
}

// cuda writes the devices that the driver made visible to the CUDA ranks.
func cuda(w *screen.Page, l *devices.List) {
	if l == nil {
		return
	}
	mps := "no MPS"
	if l.MPS.Used {
		mps = "MPS"
	}
	w.Labelled("CUDA",
		quote.Message(fmt.Sprintf("driver of CUDA %s, %s (%s)", devices.Version(l.Driver), mps, l.MPS.Known)))
	for _, d := range l.Devices {
		w.Labelled("",
			quote.Message(fmt.Sprintf("%s %s, %d MiB, compute capability %s, mode %s", d.ID(), d.Name, d.MemoryMiB,
				d.Capability, d.Mode)))
	}
}

// tuning describes the usable CPUs, their tuning and their caches.
func tuning(f machine.Facts) string {
	var parts []string
	if f.Affinity != "" {
		parts = append(parts, "CPUs "+f.Affinity)
	}
	if f.Governor != "" {
		parts = append(parts, "governor "+f.Governor)
	}
	for _, c := range f.Caches {
		parts = append(parts, c.String())
	}
	return quote.Message(strings.Join(parts, ", "))
}

func bandwidth(c *machine.Copy) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf(", copied at %.1f GB/s by %s", c.GBps, screen.Count(c.Cores, "core"))
}

// limits describes the limits of the cgroups. It returns "" if there are none.
func limits(l *machine.Limits) string {
	var parts []string
	if l != nil && l.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%g CPUs", l.CPUs))
	}
	if l != nil && l.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB of memory", l.MemoryBytes>>20))
	}
	return strings.Join(parts, ", ")
}

func describeBLAS(b result.BLAS) string {
	text := b.Engine
	if b.Library != "" {
		text += " (" + b.Library + ")"
	}
	threads := b.Threads + " threads"
	if b.Threads == "1" {
		threads = "1 thread"
	}
	return fmt.Sprintf("%s, core %s, %s", text, b.Core, threads)
}

// topology writes the topology matrix of nvidia-smi without its legend.
func topology(w *screen.Page, text string) {
	matrix, _, _ := strings.Cut(text, "\n\n")
	if matrix == "" {
		return
	}
	var grid bytes.Buffer
	aligned := tabwriter.NewWriter(&grid, 0, 0, 2, ' ', 0)
	for row := range strings.Lines(matrix) {
		cells := strings.Split(strings.TrimRight(row, " \t\r\n"), "\t")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		_, _ = fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	_ = aligned.Flush() // writing to memory cannot fail
	columns := widest
	if w.Width > 0 {
		columns = min(columns, w.Width)
	}
	w.Line(2, "GPU topology (nvidia-smi topo -m):")
	for row := range strings.Lines(grid.String()) {
		w.Line(2, screen.Cut(strings.TrimRight(row, " \n"), columns))
	}
}

// Machine describes the machine of a result in one line.
func Machine(e result.Environment) string {
	return fmt.Sprintf("%s, %s, %d MiB, %s/%s, kernel %s", e.CPU, screen.Count(e.Cores, "core"), e.MemoryMiB, e.OS,
		e.Arch, e.Kernel)
}
