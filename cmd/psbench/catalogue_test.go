package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// psbench's own parts declare what they serve, need and use. Registry files do not state that.
func TestBuiltinPartsDeclareTheirLinks(t *testing.T) {
	parts, err := catalogue(t.Context(), registry.Plugin{Name: registry.Builtin})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range parts {
		switch p.Kind {
		case sdk.KindServer, sdk.KindTrainer:
			got[string(p.Kind)+" "+p.Key] = string(p.Serves + p.Needs)
		case sdk.KindHook:
			got["hook "+p.Key] = fmt.Sprint(p.Links)
		}
	}
	want := map[string]string{
		"server average": "gradients", "server average_batch": "gradients", "trainer ddp": "gradients",
		"trainer conformance": "gradients", "trainer conformance_data": "gradients",
		"trainer conformance_parameters": "parameters", "trainer conformance_tables": "tables",
		"server embedding": "tables", "trainer hybrid": "tables",
		"server batch_update": "parameters", "trainer batch_update": "parameters",
		"hook allreduce": "[group]", "hook hybrid": "[group default]", "hook noop": "[]",
		"hook conformance_ordered": "[group]", "hook conformance_push": "[server]",
		"hook rpc": "[server]", "hook sparse_rpc": "[server group]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// psbench list shows contradictions between a registry file and a plugin, before any user chooses the part.
func TestListTellsOfContradictions(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "r.json")
	text :=
		fmt.Sprintf(`{"plugins": {"test": {"command": [%q, %q]}}, "server_map": {"hanging": {"plugin": "test", "serves": "tables"}}}`,
			exe, testPluginArgument)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := psbenchMain(t, "list", "server", "--registry", file)
	want :=
		fmt.Sprintf("psbench: warning: server hanging of plugin test serves gradients, but %s says tables: leave it out of the file, or rebuild the plugin\n", file)
	if status != 0 || stderr != want || !strings.Contains(stdout, "| hanging ") {
		t.Errorf("list ends with %d, warns %q, want %q, and prints\n%s", status, stderr, want, stdout)
	}
}
