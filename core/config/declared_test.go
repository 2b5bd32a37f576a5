package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
)

// What a registry file says of a part that its plugin declares must be the same.
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
		"server":        {`, "serves": "gradients"`, "", "", "whisper", "server shelf of plugin builtin serves tables, but FILE says gradients: leave it out of the file, or build the plugin anew"},
		"trainer":       {"", `, "needs": "parameters"`, "", "whisper", "trainer reader of plugin builtin needs tables, but FILE says parameters: leave it out of the file, or build the plugin anew"},
		"hook":          {"", "", `, "links": ["server", "group"]`, "whisper", "hook whisper of plugin builtin uses the links group, but FILE says the links server, group: leave it out of the file, or build the plugin anew"},
		"silent hook":   {"", "", `, "links": []`, "whisper", "hook whisper of plugin builtin uses the links group, but FILE says no links: leave it out of the file, or build the plugin anew"},
		"unknown link":  {"", "", "", "odd", `hook odd of plugin builtin has the link "phone", which must be server, group or default`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mine.json")
			content := `{"server_map": {"shelf": {"plugin": "builtin"` + c.server + `}}, "trainer_map": {"reader": {"plugin": "builtin"` + c.trainer +
				`}}, "ddp_hook_map": {"odd": {"plugin": "builtin"}, "whisper": {"plugin": "builtin"` + c.hook + `}}}`
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			configured, err := Merge(Sources{Environ: []string{"PSBENCH_REGISTRY=" + file, "PSBENCH_SERVER=shelf", "PSBENCH_TRAINER=reader", "PSBENCH_DDP_HOOK=" + c.key}})
			if err != nil {
				t.Fatal(err)
			}
			reg, err := configured.LoadRegistry(psbench.Registry)
			if err != nil {
				t.Fatal(err)
			}
			exp, err := configured.Resolve(t.Context(), reg, mine)
			if c.want == "" && (err != nil || exp.Service != sdk.ServiceTables || exp.Links != registry.Links{Group: true}) {
				t.Errorf("it became %+v, %v", exp, err)
			}
			if c.want != "" && (err == nil || strings.ReplaceAll(err.Error(), file, "FILE") != c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}
