// Package config turns defaults, a JSON file, the environment and flags into
// one Experiment. Every value keeps where it came from, and an unknown key is
// an error in every layer.
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

// Experiment is a configuration with every key resolved: all that a run needs.
type Experiment struct {
	World World
	// Parts holds the chosen part of each kind that has a process or can have
	// one; KindServer only if the world has servers.
	Parts map[sdk.Kind]Part
	// InTrainer holds the chosen keys of the in-trainer kinds.
	InTrainer map[sdk.Kind]string
	// CUDA is what the CUDA ranks run on; nil without any.
	CUDA *CUDA
	// Group is what the trainers' group is where the backend names NCCL but their buckets are not left on the
	// devices; "" with another backend.
	Group string
	// NotNCCL is why that group cannot be NCCL's then; "" if it can.
	NotNCCL string
	// Service is what the trainer needs of the servers, and what they serve.
	Service sdk.Service
	// Links says which links the hook uses.
	Links registry.Links
	// Isolate says which of hook, criterion and model the user wants in a
	// process of their own.
	Isolate map[sdk.Kind]bool

	// Length is that of the measured pass, WarmUp that of the one before it, which may be none.
	Length, WarmUp stop.Length
	BatchSize      int
	Seed           uint64
	Timeout        time.Duration
	// FailOnNaN ends the run where a loss or a parameter is not finite.
	FailOnNaN bool
	// Check has slices of what goes over the links kept and recomputed.
	Check bool
	// Fabric is what carries the gradients, Listen the IP address that it listens on where
	// it uses one.
	Fabric *fabric.Fabric
	Listen string
	// ListenName is how the user gave it, as in --listen; "" where nobody did.
	ListenName string
	// Interface is what chooses that address on each host; "" where Listen was given.
	Interface string
	// Place says on which hosts servers are, Affinity on which CPUs processes run.
	Place    placement.Policy
	Affinity placement.Affinity
	// Aggregate has the trainers of a host other than their server's push as one.
	Aggregate bool
	// InsecureNetwork leaves out TLS where links go between hosts.
	InsecureNetwork bool
	Auto            bool // the transport was left to psbench

	// Values is the effective configuration for the report.
	Values []result.Value
	// Warnings are one sentence each.
	Warnings []string
	// Endless is the one of them that says that no wait ends by itself; "" where waits have a limit.
	Endless string
}

// Origin says where the value of a key comes from; "" of a key that the experiment does not have.
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
	// Settings is a JSON object of all settings, defaults included.
	Settings json.RawMessage
	// Elementwise says that it is a server whose host combines gradients with it, in place.
	Elementwise bool
	// Adds says that it is a server to which sums of gradients can be pushed in their place.
	Adds bool
	// Answers is what it declares to answer, or to leave in a bucket, the mean where that is as a
	// built-in part that averages; "" where it does not say.
	Answers sdk.Answers
	// Targets is what it takes as targets, if it is a criterion.
	Targets sdk.TargetKind
	// Asynchronous says that it is a server which answers before all of its trainers have
	// come.
	Asynchronous bool
	// RanksDiffer says that it may leave trainers with unequal parameters.
	RanksDiffer bool
	// OnArrival says that it is an elementwise server which combines gradients as they arrive.
	OnArrival bool
	// Protocol says that it is called by the frames of docs/protocol.md, in a process of its own.
	Protocol bool
}

// GroupSpans says that a library of the trainers' devices, of which each has its own, is to be their group where
// their buckets may stay there.
func (e *Experiment) GroupSpans() bool { return e.Group != "" && e.NotNCCL == "" }

// Connected are the sets of trainers that wait for each other, and so run equally many batches:
// those that the hook connects by a group or by a server, unless that is asynchronous.
func (e *Experiment) Connected() [][]int {
	links := e.Links
	links.Server = links.Server && !e.Parts[sdk.KindServer].Asynchronous
	return e.World.Sets(links)
}

// inputPaths are the paths of standard input.
var inputPaths = []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

// ReadsInput says whether a setting of the part names standard input.
func (p Part) ReadsInput() bool {
	_, path := p.findText(func(text string) bool { return slices.Contains(inputPaths, text) })
	return path != ""
}

// OneTime is the name of a setting that names standard input or a pipe, and what that is, in words; "" if none does.
// What one run has read there the next one does not find.
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

// findText finds a setting whose value is such a text.
func (p Part) findText(such func(string) bool) (setting, text string) {
	var values map[string]any
	_ = json.Unmarshal(p.Settings, &values) // an object that was written here
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := values[name].(string); ok && text != "" && such(text) {
			return name, text
		}
	}
	return "", ""
}
