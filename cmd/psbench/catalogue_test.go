package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
)

// What psbench's own parts serve, need and use, which no registry file says.
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
		"server embedding": "tables", "trainer hybrid": "tables",
		"server batch_update": "parameters", "trainer batch_update": "parameters",
		"hook allreduce": "[group]", "hook hybrid": "[group default]", "hook noop": "[]",
		"hook rpc": "[server]", "hook sparse_rpc": "[server group]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
