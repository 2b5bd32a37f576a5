package listing_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/listing"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/internal/golden"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk"
)

// Every listing equals its golden file in testdata.
func TestListingsReadLikeTheirFiles(t *testing.T) {
	for name, fill := range map[string]func(*screen.Page) error{
		"values":   values,
		"items":    items,
		"server":   partsOf(sdk.KindServer),
		"hook":     partsOf(sdk.KindHook),
		"trainer":  partsOf(sdk.KindTrainer),
		"describe": func(p *screen.Page) error { return listing.Parts(p, []config.Described{parts()[2], parts()[7]}) },
		"plugins":  plugins,
		"devices":  gpus,
		"hosts":    func(p *screen.Page) error { return listing.Hosts(p, finding(), tasks()) },
		"alone":    alone,
		"plan":     func(p *screen.Page) error { return listing.Plan(p, plan(), &sweep.Spec{Question: "Which one?"}, "") },
		"status":   func(p *screen.Page) error { return listing.Status(p, "study", status()) },
	} {
		t.Run(name, func(t *testing.T) {
			p := &screen.Page{}
			if err := fill(p); err != nil {
				t.Fatal(err)
			}
			golden.Require(t, filepath.Join("testdata", name+".txt"), p.String())
		})
	}
}

// The hosts JSON has every value that a launcher sets, and omits the others.
func TestHostsDocument(t *testing.T) {
	text, err := json.MarshalIndent(listing.HostsOf(finding(), tasks()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Require(t, filepath.Join("testdata", "hosts.json"), string(text)+"\n")
}

func values(p *screen.Page) error {
	return listing.Values(p, []result.Value{
		{Key: "server", Value: "average", Origin: "default"},
		{Key: "ntrainer", Value: 4, Origin: "flag --ntrainer"},
		{Key: "out", Value: "", Origin: "default"},
		{Key: "listen", Value: nil, Origin: "default"},
		{Key: "name", Value: "a\tb", Origin: "run.json"},
		{Key: "model.layers", Value: make([]int, 40), Origin: "default"},
	})
}

func loaded() (*registry.Registry, error) {
	return registry.Load([]byte(`{
		"server_map": {"average": {"plugin": "builtin", "aliases": ["mean"], "description": "the mean"}},
		"ddp_hook_map": {"rpc": {"plugin": "builtin", "description": "push and pull"}}
	}`), "")
}

func items(p *screen.Page) error {
	reg, err := loaded()
	if err != nil {
		return err
	}
	return listing.Items(p, reg, sdk.KindServer, sdk.KindHook)
}

func plugins(p *screen.Page) error {
	reg, err := loaded()
	if err != nil {
		return err
	}
	listing.Plugins(p, reg)
	p.Line(0, "")
	listing.Added(p, "/bin/median", median(), []sdk.Part{{Kind: sdk.KindServer, Key: "median"}})
	p.Line(0, "")
	listing.Added(p, "/link", median(), nil)
	return nil
}

func median() registry.Plugin {
	return registry.Plugin{Name: "mine", Command: []string{"/bin/median", "a b"}, SHA256: "abcd",
		Files: map[string]string{"/lib/one.py": "ef01"}, Contract: "psbench/1", Includes: []string{"other"},
		File: "registry.json"}
}

func parts() []config.Described {
	described := func(kind sdk.Kind, part sdk.Part) config.Described {
		if part.Key != "" {
			part.Kind = kind
		}
		return config.Described{Part: part, Item: registry.Item{Kind: kind, Key: part.Key, Plugin: median()}}
	}
	all := []config.Described{
		described(sdk.KindServer, sdk.Part{Key: "average", Serves: sdk.ServiceGradients, Answers: sdk.AnswersMean}),
		described(sdk.KindServer, sdk.Part{Key: "async", Serves: sdk.ServiceGradients, Asynchronous: true}),
		described(sdk.KindServer, sdk.Part{Key: "some", Serves: sdk.ServiceGradients, Quorum: "k",
			Answers: sdk.AnswersOwn, Settings: []sdk.Setting{
				{Name: "k", Type: "integer", Default: json.RawMessage("2"), Doc: "trainers that are waited for"},
				{Name: "list", Type: "list", Default: json.RawMessage("[1,2,3,4,5,6,7,8,9,10,11,12,13,14]")},
			}}),
		described(sdk.KindServer, sdk.Part{Key: "rows", Serves: sdk.ServiceTables}),
		described(sdk.KindServer, sdk.Part{}),
		described(sdk.KindHook, sdk.Part{Key: "rpc", Answers: "as average"}),
		described(sdk.KindTrainer, sdk.Part{Key: "ddp", Needs: sdk.ServiceGradients}),
		described(sdk.KindModel, sdk.Part{Key: "net", Stochastic: true, SmallestBatch: 2}),
	}
	all[0].Aliases, all[0].Description = []string{"mean"}, "the mean"
	all[6].Defaults = map[string]any{"epochs": 2, "batch_size": 10, "optimizer": "sgd"}
	return all
}

func partsOf(kind sdk.Kind) func(*screen.Page) error {
	return func(p *screen.Page) error {
		var some []config.Described
		for _, d := range parts() {
			if d.Kind == kind {
				some = append(some, d)
			}
		}
		if err := listing.Services(p, kind, some); err != nil {
			return err
		}
		listing.IDs(p, kind, []string{"one", "two"})
		return listing.Settings(p, kind, some)
	}
}

func gpus(p *screen.Page) error {
	visible := "0,1"
	return listing.Devices(p, &devices.List{
		Driver: 12040, Visible: &visible, MPS: devices.MPS{Known: "no server runs"},
		Devices: []devices.Device{
			{Ordinal: 0, Name: "H100", UUID: "GPU-1", MemoryMiB: 81559, Capability: "9.0", Mode: devices.Shared,
				Peers: []int{1}},
			{Ordinal: 1, Name: "H100", UUID: "GPU-2", MemoryMiB: 81559, Capability: "9.0", Mode: devices.Shared},
		},
	}, "none: it is not there")
}

func finding() *launchers.Finding {
	place := launchers.Place{Size: 2, Rank: 0, Local: -1, Host: "one",
		From: launchers.Sources{Size: "PMI_SIZE", Rank: "PMI_RANK"}}
	return &launchers.Finding{
		Launcher: "PMI", Why: "it is the first", Place: place, Lone: "something tells of others",
		Views: []launchers.View{
			{Launcher: "PMI", Place: &place, Why: "PMI_FD is set",
				Read: []launchers.Variable{{Name: "PMI_RANK", Value: "0"}}},
			{Launcher: "Slurm", Why: "SLURM_PROCID is not set"},
		},
	}
}

func alone(p *screen.Page) error {
	f := &launchers.Finding{Launcher: launchers.Alone, Place: launchers.Place{Size: 1, Local: -1, Host: "one"}}
	return listing.Hosts(p, f, nil)
}

func tasks() []rollcall.Task {
	return []rollcall.Task{
		{Rank: 0, Size: 2, Local: 0, Host: "one", PID: 10, Version: "1", Binary: "abcd"},
		{Rank: 1, Size: 2, Local: -1, Host: "two", PID: 11, Version: "1", Binary: "abcd"},
	}
}

func plan() *sweep.Plan {
	seeded := map[string]any{sweep.SeedKey: json.Number("1")}
	return &sweep.Plan{
		Axes: []sweep.Axis{{Name: "server", Values: []string{"average", "async", "rows"}}},
		Cells: []sweep.Cell{
			{ID: "a", Name: "server=average", Values: []string{"average"},
				Config: seeded, Expected: 10 * time.Second},
			{ID: "b", Name: "server=async", Values: []string{"async"}, Config: seeded},
			{ID: "c", Name: "server=mean", Values: []string{"mean"}, Same: "a"},
			{ID: "d", Name: "server=rows", Values: []string{"rows"}, Skipped: "it serves tables"},
		},
		Again: true, Repeats: 2, Hosts: []string{"one", "two"}, RunTimeout: time.Minute,
		Budget: sweep.Budget{Time: time.Hour}, Warnings: []string{"the machine is busy"},
	}
}

func status() *conduct.Status {
	p := plan()
	account := conduct.Account{
		{Turn: sweep.Turn{Cell: 0, Folder: "runs/a/0"}, Run: journal.Run{State: journal.Running}},
		{Turn: sweep.Turn{Cell: 1, Folder: "runs/b/0"},
			Run: journal.Run{State: journal.Failed, Reason: "it timed out"}},
		{Turn: sweep.Turn{Cell: 0, Round: 1, Folder: "runs/a/1"}, Lost: true,
			Run: journal.Run{State: journal.Waiting, Reason: "it has no result"}},
	}
	return &conduct.Status{Plan: p, Account: account, Left: 3 * time.Hour}
}
