package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// Trainers of a host can push a sum only to servers that add gradients, over links that can carry sums.
func TestAggregateIsChecked(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                     "",
		"--aggregate host":                     "",
		"--aggregate host --transport shm+tcp": "",
		"--aggregate host --nserver 0":         "--aggregate is host but there is no server to push to: give --nserver 1 or more, or leave it out",
		"--aggregate host --transport tcp":     "--aggregate is host but transport tcp cannot: it needs shm+tcp, on which the trainers of a host share memory",
		"--aggregate host --transport shm":     "--aggregate is host but transport shm cannot: it needs shm+tcp, on which the trainers of a host share memory",
		"--aggregate host --trainer batch_update --server batch_update": "--aggregate is host but server batch_update is not elementwise: it takes the gradients of each trainer, not their sum",
		"--aggregate hosts": `--aggregate is "hosts" but must be none or host`,
	} {
		t.Run(flags, func(t *testing.T) {
			e, err := resolve(t, nil, strings.Fields(flags))
			switch {
			case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
				t.Errorf("%s: %v, want %q", flags, err, want)
			case err == nil && e.Aggregate != (flags != ""):
				t.Errorf("%s: aggregate is %v", flags, e.Aggregate)
			}
		})
	}
	_, err := resolve(t, nil, []string{"--aggregate", "host", "--nserver", "0"})
	if _, rule := errors.AsType[*RuleError](err); !rule {
		t.Errorf("%v is no rule, by which a sweep skips a cell", err)
	}
}

// A server that does not declare that it adds gradients is refused.
func TestAggregateNeedsAServerThatAdds(t *testing.T) {
	r := &resolver{Config: &Config{Options: option.Options{Aggregate: "host", NServer: 1}},
		exp: &Experiment{Auto: true, Parts: map[sdk.Kind]Part{
			sdk.KindServer: {Key: "median", Elementwise: true},
		}}}
	const want = " is host but server median does not say that it adds gradients up (sdk.Adding): it may treat a sum differently from its parts"
	if err := r.checkAggregate(t.Context()); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}
	err := CheckDeclared(registry.Item{Kind: sdk.KindServer, Key: "s", Plugin: registry.Plugin{Name: "p"}},
		sdk.Part{Kind: sdk.KindServer, Key: "s", Serves: sdk.ServiceGradients, Adds: true})
	if err == nil ||
		err.Error() !=
			"server s of plugin p is declared to add, but only an elementwise server can: rebuild the plugin, with sdk.Adding" {
		t.Errorf("the error is %v", err)
	}
}

// Only a hook with links can plan its traffic.
func TestPlansNeedAHookWithLinks(t *testing.T) {
	const refused = "h of plugin p is declared to plan its traffic, but only a hook with links can: rebuild the plugin"
	for want, part := range map[string]sdk.Part{
		"":                  {Kind: sdk.KindHook, Key: "h", Links: []sdk.Link{sdk.LinkGroup}, Plans: true},
		"hook " + refused:   {Kind: sdk.KindHook, Key: "h", Plans: true},
		"server " + refused: {Kind: sdk.KindServer, Key: "h", Serves: sdk.ServiceGradients, Plans: true},
	} {
		t.Run(want, func(t *testing.T) {
			got := ""
			item := registry.Item{Kind: part.Kind, Key: part.Key, Plugin: registry.Plugin{Name: "p"}}
			if err := CheckDeclared(item, part); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
