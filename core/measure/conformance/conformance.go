// Package conformance checks the parts of a plugin against the contracts of their kinds. Each check point needs one or
// more small runs, in which psbench's own trainer exercises or observes the part. An error that ends a run counts as a
// fault of the part.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk"
)

// ErrFailed reports that a part breaks its contract. The output names the part and the check point.
var ErrFailed = errors.New("the plugin does not keep the contract")

// pluginName is the plugin's name in runs.
const pluginName = "checked"

// Check holds what psbench needs to check a plugin.
type Check struct {
	Program []string // absolute path of the executable, then its arguments
	Key     string   // key of the parts to check; "" means all parts
	// Registry is the built-in registry. Configuration is the user's configuration.
	Registry      []byte
	Configuration config.Sources
	Catalogue     config.Catalogue
	Run           run.Options
	// RanksDiffer allows hooks and servers to leave different results on the ranks. DenseOnly omits sparse gradients.
	RanksDiffer, DenseOnly bool
	// Expect is the expected answer of hooks and servers. "" means the answer that they declare; ExpectAny accepts
	// every answer.
	Expect sdk.Answers
	// Refused lists settings, as kind.setting=value, that the parts of each kind must refuse.
	Refused []string
	// Model means that the configuration names the model for data, or for a server of parameters.
	Model   bool
	Largest int // samples in the largest batch; 0 means the size of each check point
	Out     io.Writer
	Width   int // screen width in columns; 0 means no screen
	// JSON writes each check point as a line of JSON and skips the speed measurement.
	JSON bool

	folder       string
	parts        []sdk.Part
	linked       bool // the plugin also serves psbench's own parts
	kept, failed int
	ours         []sdk.Part // psbench's own parts
	assigned     []config.Assigned
	refused      []refusal
	first        error          // error of the smallest run of the part
	needs        []string       // settings that the user must give before a part can be tried, as sentences
	unchecked    int            // number of parts whose values were not compared
	inputs       *sdk.InputSpec // inputs of psbench's model for trials that fit the data
	numbers      bool           // the data's targets are numbers, not classes
	fits         string         // the plugin's own model that fits the data; "" means psbench's model
	held         string         // the model that a server of parameters holds; "" if no model was tried yet
	width        int            // columns of the table of the server that was tried
	watched      *watch         // looks for leftovers of runs; nil means no check
}

// Carry checks the parts one after the other and writes a line for each check point. It returns ErrFailed if a part
// breaks its contract.
func (c *Check) Carry(ctx context.Context) (err error) {
	plugin := registry.Plugin{Name: pluginName, Command: c.Program}
	if err := c.describe(ctx, plugin); err != nil {
		return err
	}
	if err := c.checkExpect(); err != nil {
		return err
	}
	if err := c.takeSettings(); err != nil {
		return err
	}
	if c.folder, err = os.MkdirTemp("", "psbench-check"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(c.folder) }()
	if err := c.register(); err != nil {
		return err
	}
	for _, part := range c.parts {
		if c.Key != "" && part.Key != c.Key {
			continue
		}
		if err := c.part(ctx, part); err != nil {
			return err
		}
	}
	switch {
	case c.kept+c.failed > 0, len(c.needs) > 0:
	case c.Key != "":
		return fmt.Errorf("the plugin has no part %s", quote.String(c.Key))
	default:
		return errors.New("the plugin has no part that is not psbench's own, and none that can be chosen by itself")
	}
	if err := c.end(); err != nil {
		return err
	}
	switch {
	case c.failed > 0:
		return ErrFailed
	case len(c.needs) > 0:
		return errors.New(strings.Join(c.needs, "; "))
	}
	return nil
}

// ranked lists the kinds whose parts can have their own processes. In-trainer kinds cannot.
var ranked = []sdk.Kind{sdk.KindTrainer, sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindData, sdk.KindModel}

// describe asks the plugin for its parts. It does not count psbench's own parts among them. If the plugin serves these
// too, describe sets c.linked.
func (c *Check) describe(ctx context.Context, plugin registry.Plugin) (err error) {
	if c.ours, err = c.Catalogue(ctx, registry.Plugin{Name: registry.Builtin}); err != nil {
		return err
	}
	all, err := c.Catalogue(ctx, plugin)
	for _, part := range all {
		switch {
		case partOf(c.ours, part.Kind, part.Key) != nil:
			c.linked = c.linked || !inrun.IsKey(part.Key)
		case slices.Contains(ranked, part.Kind):
			c.parts = append(c.parts, part)
		}
	}
	return err
}

// partOf returns the part of this kind and key, or nil if there is none.
func partOf(list []sdk.Part, kind sdk.Kind, key string) *sdk.Part {
	i := slices.IndexFunc(list, func(p sdk.Part) bool { return p.Kind == kind && p.Key == key })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// tried lists the kinds whose parts are checked.
var tried = []sdk.Kind{
	sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindTrainer, sdk.KindModel, sdk.KindData,
}

// register writes a registry file with the plugin's parts and with psbench's parts for the trials. If a plugin also
// serves psbench's parts, the plugin runs these parts itself.
func (c *Check) register() error {
	program := registry.Program{Command: c.Program}
	if c.linked {
		program.Includes = []string{registry.Builtin}
	}
	file := registry.File{Plugins: map[string]registry.Program{pluginName: program}}
	for kind, keys := range map[sdk.Kind][]string{
		sdk.KindTrainer:   {inrun.Key, inrun.DataKey, inrun.ParametersKey, inrun.TablesKey},
		sdk.KindModel:     {inrun.Key, inrun.OrderedKey},
		sdk.KindData:      {inrun.Key},
		sdk.KindHook:      {inrun.OrderedKey, inrun.PushKey},
		sdk.KindCriterion: {inrun.OrderedKey},
	} {
		for _, key := range keys {
			file.Put(kind, key, registry.Builtin)
		}
	}
	for _, part := range c.parts {
		if slices.Contains(tried, part.Kind) {
			file.Put(part.Kind, part.Key, pluginName)
		}
	}
	data, err := json.Marshal(file)
	if err != nil {
		return err
	}
	return os.WriteFile(c.file(), data, 0o600)
}

func (c *Check) file() string { return filepath.Join(c.folder, "registry.json") }

// line writes a line and wraps it at the width of the screen. Continuation lines are indented.
func (c *Check) line(indent int, format string, args ...any) error {
	page := screen.Page{Width: c.Width}
	page.Line(indent, fmt.Sprintf(format, args...))
	_, err := page.WriteTo(c.Out)
	return err
}
