// Package config combines defaults, a JSON file, the environment and flags into one Experiment. Every value keeps
// its origin, and an unknown key is an error in every layer.
package config

//go:generate go test -run TestSchemas -update .

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// Experiment is a configuration with every key resolved: everything that a run needs.
type Experiment struct {
	World World
	// Parts holds the chosen part of each kind that can have a process of its own; KindServer only if the run has
	// servers.
	Parts map[sdk.Kind]Part
	// InTrainer holds the chosen keys of the in-trainer kinds.
	InTrainer map[sdk.Kind]string
	// CUDA is what the CUDA ranks need; nil without CUDA ranks.
	CUDA *CUDA
	// Group names the trainers' group if the backend is NCCL but their buckets do not stay on the devices; "" with
	// another backend.
	Group string
	// NotNCCL says why that group cannot use NCCL; "" if it can.
	NotNCCL string
	// Service is what the trainer needs and the servers serve.
	Service sdk.Service
	// Links are the links that the hook uses.
	Links registry.Links
	// Isolate says which of hook, criterion and model get a process of their own.
	Isolate map[sdk.Kind]bool

	// Length is the length of the measured pass, WarmUp that of the warm-up pass, which may be none.
	Length, WarmUp stop.Length
	BatchSize      int
	Seed           uint64
	Timeout        time.Duration
	// FailOnNaN ends the run if a loss or a parameter is not finite.
	FailOnNaN bool
	// Check keeps slices of the data on the links and recomputes them after the pass.
	Check bool
	// Fabric is the transport of the gradients; Listen is the IP address on which it listens, if it uses one.
	Fabric *fabric.Fabric
	Listen string
	// ListenName is where the address comes from, as in --listen; "" for the default.
	ListenName string
	// Interface chooses that address on each host; "" if Listen was given.
	Interface string
	// Place says on which hosts servers run, Affinity on which CPUs processes run.
	Place    placement.Policy
	Affinity placement.Affinity
	// Aggregate makes the trainers of a host push as one to a server on another host.
	Aggregate bool
	// InsecureNetwork turns off TLS between hosts.
	InsecureNetwork bool
	Auto            bool // the transport was left to psbench

	// Values is the effective configuration for the report.
	Values []result.Value
	// Warnings are one sentence each.
	Warnings []string
	// Endless is the warning that no wait times out; "" if waits have a limit.
	Endless string
}

// Origin says where the value of a key comes from; "" for a key that the experiment does not have.
func (e *Experiment) Origin(key string) string {
	for _, v := range e.Values {
		if v.Key == key {
			return v.Origin
		}
	}
	return ""
}

// Part is the implementation chosen for a kind.
type Part struct {
	Key    string // canonical key
	Plugin registry.Plugin
	// Settings is a JSON object of all settings, including defaults.
	Settings json.RawMessage
	// Elementwise marks a server whose host uses it to combine gradients in place.
	Elementwise bool
	// Adds marks a server that accepts sums of gradients in place of the gradients.
	Adds bool
	// Answers is what the part declares to answer, or to leave in a bucket: the mean if it averages like a built-in
	// part; "" if it does not say.
	Answers sdk.Answers
	// Targets is what a criterion takes as targets.
	Targets sdk.TargetKind
	// Asynchronous marks a server that answers before all of its trainers have pushed.
	Asynchronous bool
	// RanksDiffer marks a part that may leave trainers with unequal parameters.
	RanksDiffer bool
	// OnArrival marks an elementwise server that combines gradients as they arrive.
	OnArrival bool
	// Protocol means that the part is called by the frames of docs/protocol.md, in a process of its own.
	Protocol bool
}

// GroupSpans reports whether a library of the trainers' devices, one device each, becomes their group if their
// buckets may stay there.
func (e *Experiment) GroupSpans() bool { return e.Group != "" && e.NotNCCL == "" }

// Connected returns the sets of trainers that wait for each other and so run equally many batches. The hook
// connects them by a group or by a server that is not asynchronous.
func (e *Experiment) Connected() [][]int {
	links := e.Links
	links.Server = links.Server && !e.Parts[sdk.KindServer].Asynchronous
	return e.World.Sets(links)
}

// inputPaths are the paths of standard input.
var inputPaths = []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

// ReadsInput reports whether a setting of the part names standard input.
func (p Part) ReadsInput() bool {
	_, path := p.findText(func(text string) bool { return slices.Contains(inputPaths, text) })
	return path != ""
}

// OneTime returns the name of a setting that names standard input or a pipe, and which of them; "" if none does. A
// second run cannot read the same data there.
func (p Part) OneTime() (setting, what string) {
	setting, path := p.findText(func(text string) bool {
		info, err := os.Stat(text)
		return slices.Contains(inputPaths, text) || err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
	})
	switch {
	case path == "":
		return "", ""
	case slices.Contains(inputPaths, path):
		return setting, fmt.Sprintf("%s, standard input", quote.Word(path))
	default:
		return setting, fmt.Sprintf("%s, a pipe", quote.Word(path))
	}
}

// findText finds a setting whose value is a text for which such is true.
func (p Part) findText(such func(string) bool) (setting, text string) {
	var values map[string]any
	_ = json.Unmarshal(p.Settings, &values) // psbench wrote this object
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := values[name].(string); ok && text != "" && such(text) {
			return name, text
		}
	}
	return "", ""
}
