package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// An asynchronous server does not connect its trainers. A group still connects them.
func TestConnected(t *testing.T) {
	world := World{Trainers: 4, Servers: 2}
	for i, c := range []struct {
		links        registry.Links
		asynchronous bool
		want         [][]int
	}{
		{registry.Links{Server: true}, false, [][]int{{0, 1}, {2, 3}}},
		{registry.Links{Server: true}, true, [][]int{{0}, {1}, {2}, {3}}},
		{registry.Links{Server: true, Group: true}, true, [][]int{{0, 1, 2, 3}}},
		{registry.Links{Default: true}, true, [][]int{{0, 1, 2, 3}}},
		{registry.Links{}, false, [][]int{{0}, {1}, {2}, {3}}},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			e := &Experiment{World: world, Links: c.links,
				Parts: map[sdk.Kind]Part{sdk.KindServer: {Asynchronous: c.asynchronous}}}
			if d := cmp.Diff(c.want, e.Connected()); d != "" {
				t.Errorf("%+v: %s", c, d)
			}
		})
	}
}

// What a server declares about its answers must be possible. The declaration must also agree with the registry file, if
// the file says anything.
func TestAsynchronousIsChecked(t *testing.T) {
	yes, no := true, false
	whole := sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceGradients}
	declared := func(p sdk.Part) sdk.Part { p.Asynchronous = true; return p }
	const impossible = "server s of plugin p is declared as asynchronous, but only a server of whole gradients can be: rebuild the plugin, with sdk.Asynchronous"
	for i, c := range []struct {
		said *bool
		part sdk.Part
		want string
	}{
		{nil, whole, ""},
		{nil, declared(whole), ""},
		{&no, whole, ""},
		{&yes, declared(sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceParameters}), ""},
		{&yes, whole,
			"server s of plugin p is not asynchronous, but FILE says that it is asynchronous: leave it out of the file, or rebuild the plugin"},
		{&no, declared(whole),
			"server s of plugin p is asynchronous, but FILE says that it is not asynchronous: leave it out of the file, or rebuild the plugin"},
		{nil, sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceGradients, Quorum: "size"}, ""},
		{&no, sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceGradients, Quorum: "size"},
			"server s of plugin p is asynchronous depending on its setting size, but FILE says that it is not asynchronous: leave it out of the file"},
		{nil, sdk.Part{Kind: sdk.KindHook, Quorum: "size"}, strings.Replace(impossible, "server s", "hook s", 1)},
		{nil, declared(sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceTables}), impossible},
		{nil, declared(sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceGradients, Timing: sdk.OnArrival}),
			impossible},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			err := CheckDeclared(registry.Item{Kind: c.part.Kind, Key: "s", Plugin: registry.Plugin{Name: "p"},
				File: "FILE", Asynchronous: c.said}, c.part)
			if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
				t.Errorf("%v, %+v: %s\nwant %s", c.said, c.part, got, c.want)
			}
		})
	}
}

// With the protocol for parts in other languages, servers take whole gradients, and trainers are not supported.
func TestWhatSpeaksTheProtocol(t *testing.T) {
	const served = "server s of plugin p speaks the protocol of docs/protocol.md, whose servers take whole gradients: it must serve gradients and have no timing"
	for i, c := range []struct {
		part sdk.Part
		want string
	}{
		{sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceGradients, Asynchronous: true}, ""},
		{sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceParameters}, served},
		{sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceTables}, served},
		{sdk.Part{Kind: sdk.KindServer, Serves: sdk.ServiceGradients, Timing: sdk.OnArrival}, served},
		{sdk.Part{Kind: sdk.KindHook}, ""},
		{sdk.Part{Kind: sdk.KindTrainer, Needs: sdk.ServiceGradients},
			"trainer s of plugin p speaks the protocol of docs/protocol.md, which has no trainers: write them in Go"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			c.part.Protocol = true
			err := CheckDeclared(registry.Item{Kind: c.part.Kind, Key: "s", Plugin: registry.Plugin{Name: "p"}}, c.part)
			if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
				t.Errorf("%+v: %s\nwant %s", c.part, got, c.want)
			}
		})
	}
}

// A server is asynchronous if it waits for fewer trainers than it has.
func TestQuorum(t *testing.T) {
	quorum := func(_ context.Context, plugin registry.Plugin) ([]sdk.Part, error) {
		own, err := parts(t.Context(), plugin)
		return append(slices.Clone(own), sdk.Part{
			Kind: sdk.KindServer, Key: "some", Serves: sdk.ServiceGradients, Quorum: "size",
			Settings: []sdk.Setting{{Name: "size", Type: "integer", Default: []byte("0")}},
		}), err
	}
	file := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(file, []byte(`{"server_map": {"some": {"plugin": "builtin"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[string]bool{"0": false, "1": true, "2": true, "3": false, "4": false} {
		configured, err := Merge(Sources{Environ: []string{"PSBENCH_REGISTRY=" + file, "PSBENCH_SERVER=some",
			"PSBENCH_NTRAINER=6", "PSBENCH_NSERVER=2", "PSBENCH_SET=server.size=" + size}})
		if err != nil {
			t.Fatal(err)
		}
		reg, err := configured.LoadRegistry(psbench.Registry, "")
		if err != nil {
			t.Fatal(err)
		}
		exp, err := configured.Resolve(t.Context(), reg, quorum)
		if err != nil {
			t.Fatal(err)
		}
		if got := exp.Parts[sdk.KindServer].Asynchronous; got != want {
			t.Errorf("of 3 trainers, to wait for %s is asynchronous: %v", size, got)
		}
	}
}

// If a registry file describes a part, it must agree with the declaration of the plugin.
func TestRegistryAndPluginAgree(t *testing.T) {
	mine := func(_ context.Context, plugin registry.Plugin) ([]sdk.Part, error) {
		own, err := parts(t.Context(), plugin)
		return append(slices.Clone(own),
			sdk.Part{Kind: sdk.KindServer, Key: "shelf", Serves: sdk.ServiceTables},
			sdk.Part{Kind: sdk.KindTrainer, Key: "reader", Needs: sdk.ServiceTables},
			sdk.Part{Kind: sdk.KindHook, Key: "whisper", Links: []sdk.Link{sdk.LinkGroup}},
			sdk.Part{Kind: sdk.KindHook, Key: "odd", Links: []sdk.Link{"phone"}},
		), err
	}
	for name, c := range map[string]struct{ server, trainer, hook, key, want string }{
		"nothing said":  {"", "", "", "whisper", ""},
		"the same said": {`, "serves": "tables"`, `, "needs": "tables"`, `, "links": ["group"]`, "whisper", ""},
		"server": {`, "serves": "gradients"`, "", "", "whisper",
			"server shelf of plugin builtin serves tables, but FILE says gradients: leave it out of the file, or rebuild the plugin"},
		"trainer": {"", `, "needs": "parameters"`, "", "whisper",
			"trainer reader of plugin builtin needs tables, but FILE says parameters: leave it out of the file, or rebuild the plugin"},
		"hook": {"", "", `, "links": ["server", "group"]`, "whisper",
			"hook whisper of plugin builtin uses the links group, but FILE says the links server, group: leave it out of the file, or rebuild the plugin"},
		"silent hook": {"", "", `, "links": []`, "whisper",
			"hook whisper of plugin builtin uses the links group, but FILE says no links: leave it out of the file, or rebuild the plugin"},
		"unknown link": {"", "", "", "odd",
			`hook odd of plugin builtin has the link "phone", which must be server, group or default`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mine.json")
			content := `{"server_map": {"shelf": {"plugin": "builtin"` + c.server +
				`}}, "trainer_map": {"reader": {"plugin": "builtin"` + c.trainer +
				`}}, "ddp_hook_map": {"odd": {"plugin": "builtin"}, "whisper": {"plugin": "builtin"` + c.hook + `}}}`
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			configured, err := Merge(Sources{Environ: []string{"PSBENCH_REGISTRY=" + file, "PSBENCH_SERVER=shelf",
				"PSBENCH_TRAINER=reader", "PSBENCH_DDP_HOOK=" + c.key}})
			if err != nil {
				t.Fatal(err)
			}
			reg, err := configured.LoadRegistry(psbench.Registry, "")
			if err != nil {
				t.Fatal(err)
			}
			exp, err := configured.Resolve(t.Context(), reg, mine)
			if c.want == "" &&
				(err != nil || exp.Service != sdk.ServiceTables || exp.Links != registry.Links{Group: true}) {
				t.Errorf("it became %+v, %v", exp, err)
			}
			if c.want != "" && (err == nil || strings.ReplaceAll(err.Error(), file, "FILE") != c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}
