// Package config combines defaults, a JSON file, the environment and flags into one Experiment. Every value keeps its
// origin. In every layer, an unknown key is an error.
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

// Experiment is a complete configuration with everything that a run needs. All keys are resolved.
type Experiment struct {
	World World
	// Parts holds the chosen part for each kind that can have its own process. Parts has KindServer only if the run has
	// servers.
	Parts map[sdk.Kind]Part
	// InTrainer holds the chosen keys for the kinds that run in the trainer's process.
	InTrainer map[sdk.Kind]string
	// CUDA holds the plugin and devices for CUDA ranks. CUDA is nil without CUDA ranks.
	CUDA *CUDA
	// Group is the name of the trainers' group if the backend is NCCL but the buckets do not stay on the devices. Group
	// is "" with another backend.
	Group string
	// NotNCCL says why the trainers' group cannot use NCCL. NotNCCL is "" if the group can use NCCL.
	NotNCCL string
	// Service is the service that the trainer needs and the servers provide.
	Service sdk.Service
	// Links are the links that the hook uses.
	Links registry.Links
	// Isolate says which of hook, criterion and model run in their own process.
	Isolate map[sdk.Kind]bool

	// Length is the length of the measured pass. WarmUp is the length of the warm-up pass, which may be 0.
	Length, WarmUp stop.Length
	BatchSize      int
	Seed           uint64
	Timeout        time.Duration
	// FailOnNaN makes the run fail if a loss or a parameter is not finite.
	FailOnNaN bool
	// Check makes the run keep slices of the data on the links and recompute them after the pass.
	Check bool
	// Fabric is the transport of the gradients. Listen is the IP address on which it listens, if it uses one.
	Fabric *fabric.Fabric
	Listen string
	// ListenName is the option that gave the address, such as --listen, or "" for the default.
	ListenName string
	// Interface selects the listening address on each host. Interface is "" if Listen was given.
	Interface string
	// Place says on which hosts servers run. Affinity says on which CPUs processes run.
	Place    placement.Policy
	Affinity placement.Affinity
	// Aggregate makes the trainers of a host push as one to a server on another host.
	Aggregate bool
	// InsecureNetwork turns off TLS between hosts.
	InsecureNetwork bool
	Auto            bool // the user left the transport to psbench

	// Values is the effective configuration, for the report.
	Values []result.Value
	// Warnings holds one sentence for each warning.
	Warnings []string
	// Endless is the warning that no wait times out. Endless is "" if waits have a limit.
	Endless string
}

// Origin returns where the value of a key comes from, or "" if the experiment does not have the key.
func (e *Experiment) Origin(key string) string {
	for _, v := range e.Values {
		if v.Key == key {
			return v.Origin
		}
	}
	return ""
}

// Part is the chosen implementation for a kind.
type Part struct {
	Key    string // the canonical key
	Plugin registry.Plugin
	// Settings is a JSON object with all settings, including defaults.
	Settings json.RawMessage
	// Elementwise means that the part is a server which its host process uses to combine gradients in place.
	Elementwise bool
	// Adds means that the part is a server which accepts sums of gradients instead of single gradients.
	Adds bool
	// Answers is what the part declares to answer or to leave in a bucket. Answers is the mean if the part averages
	// like a built-in part. Answers is "" if the part declares nothing.
	Answers sdk.Answers
	// Plans reports that a hook plans its traffic.
	Plans bool
	// Targets is the kind of targets that a criterion takes.
	Targets sdk.TargetKind
	// Asynchronous means that the part is a server which answers before all of its trainers have pushed.
	Asynchronous bool
	// RanksDiffer means that the part may leave trainers with unequal parameters.
	RanksDiffer bool
	// OnArrival means that the part is an elementwise server which combines gradients as they arrive.
	OnArrival bool
	// Protocol means that the part runs in its own process and is called by the frames of docs/protocol.md.
	Protocol bool
}

// GroupSpans reports whether NCCL becomes the trainers' group if their buckets may stay on the devices. Each trainer
// then has its own device.
func (e *Experiment) GroupSpans() bool { return e.Group != "" && e.NotNCCL == "" }

// Connected returns the sets of trainers that wait for each other. Trainers of a set run the same number of batches.
// The hook connects them by a group or by a server that is not asynchronous.
func (e *Experiment) Connected() [][]int {
	links := e.Links
	links.Server = links.Server && !e.Parts[sdk.KindServer].Asynchronous
	return e.World.Sets(links)
}

// inputPaths lists the paths of standard input.
var inputPaths = []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

// ReadsInput reports whether a setting of the part is the path of standard input.
func (p Part) ReadsInput() bool {
	_, path := p.findText(func(text string) bool { return slices.Contains(inputPaths, text) })
	return path != ""
}

// OneTime returns the name of a setting whose value is standard input or a pipe, and which of them it is. A second run
// cannot read the same data from them. OneTime returns "" if there is no such setting.
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

// findText returns a setting whose value is a text that satisfies such.
func (p Part) findText(such func(string) bool) (setting, text string) {
	var values map[string]any
	_ = json.Unmarshal(p.Settings, &values) // cannot fail, because psbench wrote this object
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text, ok := values[name].(string); ok && text != "" && such(text) {
			return name, text
		}
	}
	return "", ""
}
