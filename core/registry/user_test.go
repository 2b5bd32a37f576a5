package registry

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/sdk"
)

func TestUserFile(t *testing.T) {
	for environ, want := range map[string]string{
		"":                               "",
		"HOME=/h":                        "/h/.config/psbench/registry.json",
		"HOME=h":                         "",
		"HOME=/h XDG_CONFIG_HOME=/c":     "/c/psbench/registry.json",
		"HOME=/h XDG_CONFIG_HOME=config": "/h/.config/psbench/registry.json",
		"XDG_CONFIG_HOME=/c":             "/c/psbench/registry.json",
	} {
		if got := UserFile(strings.Fields(environ)); got != want {
			t.Errorf("%q gives %q, want %q", environ, got, want)
		}
	}
}

var sum = strings.Repeat("0a", 32)

// Whatever is wrong with an entry, the rest of the registry can be used; whoever uses that
// entry hears what is wrong.
func TestABrokenEntryHarmsNoOther(t *testing.T) {
	good := `"plugins": {"good": {"command": ["/good"], "sha256": "` + sum + `"}, BAD}, "server_map": {"fine": {"plugin": "good"}, MINE}`
	for name, c := range map[string]struct{ plugin, server, want string }{
		"no sum":          {`"bad": {"command": ["/bad"]}`, `"mine": {"plugin": "bad"}`, "has no sha256"},
		"short sum":       {`"bad": {"command": ["/bad"], "sha256": "12"}`, `"mine": {"plugin": "bad"}`, "must be 64 digits"},
		"no command":      {`"bad": {"sha256": "` + sum + `"}`, `"mine": {"plugin": "bad"}`, "has no command"},
		"relative file":   {`"bad": {"command": ["/bad"], "sha256": "` + sum + `", "files": {"sh": "` + sum + `"}}`, `"mine": {"plugin": "bad"}`, "absolute paths"},
		"unknown field":   {`"bad": {"command": ["/bad"], "sha265": "x"}`, `"mine": {"plugin": "bad"}`, `line 1, column 153: unknown key "sha265"; did you mean "sha256"?`},
		"no object":       {`"bad": 1`, `"mine": {"plugin": "bad"}`, "must hold an object"},
		"included":        {`"bad": {"command": ["/bad"], "sha256": "` + sum + `", "includes": ["x"]}`, `"mine": {"plugin": "bad"}`, "names an unknown plugin"},
		"builtin's name":  {`"builtin": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "bad"}`, `names an unknown plugin "bad"`},
		"unknown plugin":  {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "goood"}`, `did you mean "good"?`},
		"entry's field":   {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "good", "alias": []}`, `unknown key "alias"`},
		"entry's value":   {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "good", "serves": "x"}`, "must be gradients, tables or parameters"},
		"alias is taken":  {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "good", "aliases": ["average"]}`, `name "average" is already in`},
		"alias and key":   {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "good", "aliases": ["mine"]}`, `name "mine" is already in`},
		"builtin has key": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"average": {"plugin": "good"}`, "is already in server_map.average of the built-in registry"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, "registry.json", "{"+strings.NewReplacer("BAD", c.plugin, "MINE", c.server).Replace(good)+"}")
			reg, err := Load(psbench.Registry, path)
			if err != nil {
				t.Fatal(err)
			}
			for _, fine := range []string{"fine", "batch_update"} {
				if _, err := reg.Lookup(sdk.KindServer, fine); err != nil {
					t.Errorf("%s: %v", fine, err)
				}
			}
			key := strings.Split(c.server, `"`)[1]
			_, err = reg.Lookup(sdk.KindServer, key)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s gives %v, want %q", key, err, c.want)
			}
			if !reg.Broken(sdk.KindServer, key) || reg.Broken(sdk.KindServer, "fine") || len(reg.Faults()) == 0 {
				t.Errorf("broken: %t, fine: %t, faults: %v", reg.Broken(sdk.KindServer, key), reg.Broken(sdk.KindServer, "fine"), reg.Faults())
			}
		})
	}
}

// A registry is looked at whatever its path: what a plugin includes must be there.
func TestIncludesOfARegistryWithAnOddPath(t *testing.T) {
	for _, folder := range []string{"a\nb", strings.Repeat("long", 60)} {
		path := filepath.Join(t.TempDir(), folder, "registry.json")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"plugins": {"a": {"command": ["/a"], "sha256": "`+sum+`", "includes": ["x"]}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		reg, err := Load(psbench.Registry, path)
		if err != nil {
			t.Fatal(err)
		}
		if faults := reg.Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), `names an unknown plugin "x"`) {
			t.Errorf("%q: the faults are %v", path, faults)
		}
	}
}

// The name of psbench itself is taken, which is told even where no key names that plugin.
func TestBuiltinInTheUsersRegistry(t *testing.T) {
	path := write(t, "registry.json", `{"plugins": {"builtin": {"command": ["/bad"], "sha256": "`+sum+`"}}}`)
	reg, err := Load(psbench.Registry, path)
	if err != nil {
		t.Fatal(err)
	}
	if faults := reg.Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), `plugin "builtin" of `+path+` is already in the built-in registry`) {
		t.Errorf("the faults are %v", faults)
	}
}

// A plugin includes others whatever their names.
func TestIncludesInAnyOrder(t *testing.T) {
	path := write(t, "registry.json", `{"plugins": {
		"a": {"command": ["/a"], "sha256": "`+sum+`", "includes": ["b", "builtin"]},
		"b": {"command": ["/b"], "sha256": "`+sum+`", "includes": ["a"]}
	}, "server_map": {"one": {"plugin": "a"}, "two": {"plugin": "b"}}}`)
	reg, err := Load(psbench.Registry, path)
	if err != nil {
		t.Fatal(err)
	}
	if faults := reg.Faults(); len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	if item, err := reg.Lookup(sdk.KindServer, "one"); err != nil || !item.Plugin.Has("b") || !item.Plugin.User {
		t.Errorf("server one is %+v (%v)", item, err)
	}
}

// What its author has written of a plugin comes along when it is added, from beside the program.
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
		if item, err := reg.Lookup(sdk.KindServer, key); err != nil || item.Description != want || item.Plugin.Name != "median" {
			t.Errorf("server %s is %+v (%v)", key, item, err)
		}
	}
	if _, err := reg.Lookup(sdk.KindServer, "gone"); err == nil {
		t.Error("a key that the plugin does not have is there")
	}
	author(`{"plugins": {"theirs": {"command": ["./median"]}}, "server_map": {"one": {"plugin": "theirs", "alias": []}}}`)
	if err := add(t, path, mine); err == nil || !strings.Contains(err.Error(), `unknown key "alias"`) {
		t.Errorf("what is wrong there gives %v", err)
	}
	author(`{"plugins": {"theirs": {"command": ["./median"]}}, "server_map": {"two": {"plugin": "theirs", "aliases": ["average"]}}}`)
	if err := add(t, filepath.Join(t.TempDir(), "registry.json"), mine); err == nil || !strings.Contains(err.Error(), `the server name "average" is already in server_map.average of the built-in registry`) {
		t.Errorf("an alias of psbench's gives %v", err)
	}
	if err := os.Chmod(beside, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := add(t, path, mine); err == nil || !strings.Contains(err.Error(), "median cannot be added with what stands beside it: file "+beside+" can be written by others") {
		t.Errorf("what others can write there gives %v", err)
	}
	author(`{"of": "another program"}`)
	if err := add(t, path, mine); err != nil {
		t.Error(err)
	}
}

// The author's own registry file, beside a program that was added, is there once too often.
func TestARegistryFileOfAPluginThatWasAdded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	mine := addition(t, "median", "one")
	if err := add(t, path, mine); err != nil {
		t.Fatal(err)
	}
	author := filepath.Join(filepath.Dir(mine.Command[0]), "registry.json")
	for program, want := range map[string]string{
		"./median": "is in " + path + " too, which every run reads: leave " + author + " out, or give --no-user-registry",
		"./other":  "is already in " + path + ": give it another name, or --no-user-registry",
	} {
		if err := os.WriteFile(author, []byte(`{"plugins": {"median": {"command": ["`+program+`"]}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(psbench.Registry, path, author); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", program, err, want)
		}
		if _, err := Load(psbench.Registry, "", author); err != nil {
			t.Errorf("without the user's registry: %v", err)
		}
	}
}

func TestUserFilesThatAreRefused(t *testing.T) {
	user := `{"plugins": {"good": {"command": ["/good"], "sha256": "` + sum + `"}}, "server_map": {"mine": {"plugin": "good"}}}`
	path := write(t, "registry.json", user)
	for text, want := range map[string]string{
		`{"plugins": {"good": {"command": ["/other"]}}}`:                                   "is already in " + path + ": give it another name, or --no-user-registry",
		`{"plugins": {"p": {"command": ["/p"]}}, "server_map": {"mine": {"plugin": "p"}}}`: `the server name "mine" is already in server_map.mine of ` + path,
	} {
		if _, err := Load(psbench.Registry, path, write(t, "other.json", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s beside the user's gives %v, want %q", text, err, want)
		}
	}
	if _, err := Load(psbench.Registry, path, write(t, "more.json", `{"server_map": {"other": {"plugin": "good"}}}`)); err != nil {
		t.Errorf("a file that uses the user's plugin: %v", err)
	}
	for text, want := range map[string]string{
		`{"plugins": []}`:                 "plugins must be an object",
		`{"plugin": {}}`:                  `unknown key "plugin"`,
		`{"plugins": {"a": {}, "a": {}}}`: `key "plugins.a" is given twice`,
		`{`:                               "line 1, column 2",
	} {
		_, err := Load(psbench.Registry, write(t, "registry.json", text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--no-user-registry") {
			t.Errorf("%s gives %v, want %q", text, err, want)
		}
	}
	for _, open := range []string{path, filepath.Dir(path)} {
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(psbench.Registry, path); err == nil || !strings.Contains(err.Error(), open+" can be written by others") {
			t.Errorf("%s of mode 0777 gives %v", open, err)
		}
		if err := os.Chmod(open, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	pipe := filepath.Join(t.TempDir(), "registry.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/null", t.TempDir()} {
		if _, err := Load(psbench.Registry, path); err == nil || !strings.HasSuffix(err.Error(), ": "+path+" is no regular file") {
			t.Errorf("%s gives %v", path, err)
		}
	}
	if _, err := Load(psbench.Registry, filepath.Join(t.TempDir(), "absent.json")); err != nil {
		t.Errorf("without a registry: %v", err)
	}
}

// plugin is a program that says that it has these servers.
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

	// What somebody wrote into an entry stays; keys that are gone go.
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
		"another's key":         {addition(t, "other", "three"), "has the server three, which is of plugin my-plugin already"},
		"another's name":        {addition(t, "my-plugin.py", "four"), "plugin my-plugin is there already"},
		"a key of psbench's":    {addition(t, "other", "average"), `has the server "average", which is a name of one of psbench's own`},
		"an alias of psbench's": {addition(t, "other", "EmbeddingBag"), "which is a name of one of psbench's own"},
		"a key that is none":    {addition(t, "other", "a b"), "must be made of at most 100 letters"},
		"no part":               {addition(t, "other"), "has no parts"},
		"no name":               {addition(t, "...", "four"), "a plugin cannot be named"},
		"no program":            {Addition{Command: []string{"/no/such"}}, "/no/such cannot be added"},
		"no answer":             {Addition{Command: mine.Command, Ask: func(context.Context, Plugin) (Description, error) { return Description{}, errors.New("it hangs") }}, "it hangs"},
	} {
		before, _ := os.ReadFile(path)
		if err := add(t, path, c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s gives %v, want %q", name, err, c.want)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s changed the registry to\n%s", name, after)
		}
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

	if _, err := Remove(t.Context(), path, "my-plugn"); err == nil || !strings.Contains(err.Error(), `did you mean "my-plugin"?`) {
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

// Whoever adds at the same time loses nothing of what others add.
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
		if _, err := reg.Lookup(sdk.KindServer, "key_"+key); err != nil {
			t.Error(err)
		}
	}
}

// Whatever the file says, reading it ends, and what psbench writes it reads as the same again.
func FuzzUserFile(f *testing.F) {
	f.Add([]byte(`{"$schema": "x", "plugins": {"a": {"command": ["/a"]}}, "server_map": {"k": {"plugin": "a"}}}`))
	f.Add([]byte(`{"plugins": {"a": 1}, "model_map": {"": null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := parseUser("registry.json", data)
		if err != nil {
			return
		}
		for name := range u.sections[pluginSection] {
			_, _ = u.program(name)
		}
		for _, m := range kindMaps {
			for key := range u.sections[m.name] {
				_, _ = u.entry(m, key)
			}
		}
		text, err := u.text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseUser("registry.json", text)
		if err != nil {
			t.Fatalf("%s is written as %s: %v", data, text, err)
		}
		twice, err := again.text()
		if err != nil || !bytes.Equal(text, twice) {
			t.Fatalf("%s, written again: %s (%v)", text, twice, err)
		}
	})
}
