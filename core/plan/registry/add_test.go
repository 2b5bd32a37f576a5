package registry

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/sdk"
)

// When a plugin is added, the entries that its author wrote next to the program are added too.
func TestAddTakesWhatTheAuthorWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	mine := addition(t, "median", "one", "two")
	beside := filepath.Join(filepath.Dir(mine.Command[0]), "registry.json")
	author := func(text string) {
		if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	author(`{"plugins": {"theirs": {"command": ["./median"]}, "other": {"command": ["./median", "-v"]}}, "server_map": {
		"one": {"plugin": "theirs", "description": "the middle", "aliases": ["Middle"]},
		"two": {"plugin": "other", "description": "with an argument"},
		"gone": {"plugin": "theirs", "description": "which it has no more"}}}`)
	if err := add(t, path, mine); err != nil {
		t.Fatal(err)
	}
	reg, err := Load(psbench.Registry, path)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"one": "the middle", "Middle": "the middle", "two": ""} {
		t.Run(key, func(t *testing.T) {
			if item, err := reg.Lookup(sdk.KindServer, key); err != nil || item.Description != want ||
				item.Plugin.Name != "median" {
				t.Errorf("server %s is %+v (%v)", key, item, err)
			}
		})
	}
	if _, err := reg.Lookup(sdk.KindServer, "gone"); err == nil {
		t.Error("a key that the plugin does not have is there")
	}
	author(
		`{"plugins": {"theirs": {"command": ["./median"]}}, "server_map": {"one": {"plugin": "theirs", "alias": []}}}`)
	if err := add(t, path, mine); err == nil || !strings.Contains(err.Error(), `unknown key "alias"`) {
		t.Errorf("what is wrong there gives %v", err)
	}
	author(`{"plugins": {"theirs": {"command": ["./median"]}}, "server_map": {"two": {"plugin": "theirs", "aliases": ["average"]}}}`)
	if err := add(t, filepath.Join(t.TempDir(), "registry.json"), mine); err == nil ||
		!strings.Contains(err.Error(),
			`the server name "average" is already in server_map.average of the built-in registry`) {
		t.Errorf("an alias of psbench's gives %v", err)
	}
	if err := os.Chmod(beside, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := add(t, path, mine); err == nil ||
		!strings.Contains(err.Error(),
			"median cannot be added with the files beside it: file "+beside+" can be written by others") {
		t.Errorf("what others can write there gives %v", err)
	}
	author(`{"of": "another program"}`)
	if err := add(t, path, mine); err != nil {
		t.Error(err)
	}
}

// addition returns a plugin whose program reports servers with these keys.
func addition(t *testing.T, name string, keys ...string) Addition {
	t.Helper()
	path := write(t, name, "x")
	return Addition{Command: []string{path}, Ask: func(context.Context, Plugin) (Description, error) {
		said := Description{Contract: "1.0"}
		for _, key := range keys {
			said.Parts = append(said.Parts, sdk.Part{Kind: sdk.KindServer, Key: key})
		}
		return said, nil
	}}
}

func add(t *testing.T, path string, a Addition) error {
	t.Helper()
	_, _, err := Add(t.Context(), path, psbench.Registry, a)
	return err
}

func TestAddAndRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "psbench", "registry.json")
	mine := addition(t, "my-plugin.sh", "one", "two")
	if err := add(t, path, mine); err != nil {
		t.Fatal(err)
	}
	reg, err := Load(psbench.Registry, path)
	if err != nil {
		t.Fatal(err)
	}
	item, err := reg.Lookup(sdk.KindServer, "two")
	want := Plugin{
		Name: "my-plugin", Command: mine.Command, Contract: "1.0", File: path, User: true,
		SHA256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
	}
	if diff := cmp.Diff(want, item.Plugin); diff != "" || err != nil {
		t.Error(diff, err)
	}

	// Changes that people made in an entry are kept. Keys that the plugin no longer has are removed.
	text, _ := os.ReadFile(path)
	text = bytes.Replace(text, []byte(`"one": {`), []byte(`"one": {"description": "mine",`), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine.Command[0], []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := addition(t, "unused", "one", "three")
	again.Command = mine.Command
	if err := add(t, path, again); err != nil {
		t.Fatal(err)
	}
	if reg, err = Load(psbench.Registry, path); err != nil {
		t.Fatal(err)
	}
	item, err = reg.Lookup(sdk.KindServer, "one")
	if err != nil || item.Description != "mine" || item.Plugin.SHA256 == want.SHA256 {
		t.Errorf("the entry is %+v (%v)", item, err)
	}
	if _, err := reg.Lookup(sdk.KindServer, "two"); err == nil {
		t.Error("a key that the plugin has no more is there still")
	}

	for name, c := range map[string]struct {
		a    Addition
		want string
	}{
		"another's key": {addition(t, "other", "three"),
			"has the server three, which is of plugin my-plugin already"},
		"another's name": {addition(t, "my-plugin.py", "four"), "plugin my-plugin is already registered"},
		"a key of psbench's": {addition(t, "other", "average"),
			`has the server "average", which is also a name of one of psbench's own`},
		"an alias of psbench's": {addition(t, "other", "EmbeddingBag"), "which is also a name of one of psbench's own"},
		"a key that is none":    {addition(t, "other", "a b"), "must be made of at most 100 letters"},
		"no part":               {addition(t, "other"), "has no parts"},
		"no name":               {addition(t, "...", "four"), "a plugin cannot be named"},
		"no program":            {Addition{Command: []string{"/no/such"}}, "/no/such cannot be added"},
		"no answer": {Addition{Command: mine.Command,
			Ask: func(context.Context, Plugin) (Description, error) { return Description{}, errors.New("it hangs") }},
			"it hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := os.ReadFile(path)
			if err := add(t, path, c.a); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s gives %v, want %q", name, err, c.want)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Errorf("%s changed the registry to\n%s", name, after)
			}
		})
	}
	renamed := addition(t, "x", "one")
	renamed.Command, renamed.Name = mine.Command, "else"
	if err := add(t, path, renamed); err == nil || !strings.Contains(err.Error(), "as plugin my-plugin") {
		t.Errorf("another name for a program gives %v", err)
	}
	open := addition(t, "other", "four")
	if err := os.Chmod(open.Command[0], 0o666); err != nil {
		t.Fatal(err)
	}
	if err := add(t, path, open); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a program that others can write gives %v", err)
	}

	if _, err := Remove(t.Context(), path, "my-plugn"); err == nil ||
		!strings.Contains(err.Error(), `did you mean "my-plugin"?`) {
		t.Errorf("removing another gives %v", err)
	}
	keys, err := Remove(t.Context(), path, "my-plugin")
	if err != nil || strings.Join(keys, ", ") != "server one, server three" {
		t.Errorf("removed %v, %v", keys, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("left beside the registry: %v", left)
	}
}

// Concurrent additions do not lose entries.
func TestAddAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	var wg sync.WaitGroup
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, key := range keys {
		a := addition(t, key, "key_"+key)
		wg.Go(func() {
			if _, _, err := Add(t.Context(), path, psbench.Registry, a); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	reg, err := Load(psbench.Registry, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		t.Run(key, func(t *testing.T) {
			if _, err := reg.Lookup(sdk.KindServer, "key_"+key); err != nil {
				t.Error(err)
			}
		})
	}
}
