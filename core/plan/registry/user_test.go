package registry

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
		t.Run(environ, func(t *testing.T) {
			if got := UserFile(strings.Fields(environ)); got != want {
				t.Errorf("%q gives %q, want %q", environ, got, want)
			}
		})
	}
}

var sum = strings.Repeat("0a", 32)

// An entry that is not valid does not affect the rest of the registry. Looking up the entry returns its error.
func TestABrokenEntryHarmsNoOther(t *testing.T) {
	good := `"plugins": {"good": {"command": ["/good"], "sha256": "` + sum +
		`"}, BAD}, "server_map": {"fine": {"plugin": "good"}, MINE}`
	for name, c := range map[string]struct{ plugin, server, want string }{
		"no sum": {`"bad": {"command": ["/bad"]}`, `"mine": {"plugin": "bad"}`, "has no sha256"},
		"short sum": {`"bad": {"command": ["/bad"], "sha256": "12"}`, `"mine": {"plugin": "bad"}`,
			"must be 64 digits"},
		"no command": {`"bad": {"sha256": "` + sum + `"}`, `"mine": {"plugin": "bad"}`, "has no command"},
		"relative file": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `", "files": {"sh": "` + sum + `"}}`,
			`"mine": {"plugin": "bad"}`, "absolute paths"},
		"unknown field": {`"bad": {"command": ["/bad"], "sha265": "x"}`, `"mine": {"plugin": "bad"}`,
			`line 1, column 153: unknown key "sha265"; did you mean "sha256"?`},
		"no object": {`"bad": 1`, `"mine": {"plugin": "bad"}`, "must hold an object"},
		"included": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `", "includes": ["x"]}`,
			`"mine": {"plugin": "bad"}`, "names an unknown plugin"},
		"builtin's name": {`"builtin": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "bad"}`,
			`names an unknown plugin "bad"`},
		"unknown plugin": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"mine": {"plugin": "goood"}`,
			`did you mean "good"?`},
		"entry's field": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`,
			`"mine": {"plugin": "good", "alias": []}`, `unknown key "alias"`},
		"entry's value": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`,
			`"mine": {"plugin": "good", "serves": "x"}`, "must be gradients, tables or parameters"},
		"alias is taken": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`,
			`"mine": {"plugin": "good", "aliases": ["average"]}`, `name "average" is already in`},
		"alias and key": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`,
			`"mine": {"plugin": "good", "aliases": ["mine"]}`, `name "mine" is already in`},
		"builtin has key": {`"bad": {"command": ["/bad"], "sha256": "` + sum + `"}`, `"average": {"plugin": "good"}`,
			"is already in server_map.average of the built-in registry"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, "registry.json",
				"{"+strings.NewReplacer("BAD", c.plugin, "MINE", c.server).Replace(good)+"}")
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
				t.Errorf("broken: %t, fine: %t, faults: %v", reg.Broken(sdk.KindServer, key),
					reg.Broken(sdk.KindServer, "fine"), reg.Faults())
			}
		})
	}
}

// The path of a registry may contain any characters. A plugin must not include unknown plugins, whatever the path.
func TestIncludesOfARegistryWithAnOddPath(t *testing.T) {
	for _, folder := range []string{"a\nb", strings.Repeat("long", 60)} {
		t.Run(folder, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), folder, "registry.json")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path,
				[]byte(`{"plugins": {"a": {"command": ["/a"], "sha256": "`+sum+`", "includes": ["x"]}}}`),
				0o600); err != nil {
				t.Fatal(err)
			}
			reg, err := Load(psbench.Registry, path)
			if err != nil {
				t.Fatal(err)
			}
			if faults := reg.Faults(); len(faults) != 1 ||
				!strings.Contains(faults[0].Error(), `names an unknown plugin "x"`) {
				t.Errorf("%q: the faults are %v", path, faults)
			}
		})
	}
}

// A plugin must not have psbench's own name. Such a name is an error even if no key refers to the plugin.
func TestBuiltinInTheUsersRegistry(t *testing.T) {
	path := write(t, "registry.json", `{"plugins": {"builtin": {"command": ["/bad"], "sha256": "`+sum+`"}}}`)
	reg, err := Load(psbench.Registry, path)
	if err != nil {
		t.Fatal(err)
	}
	if faults := reg.Faults(); len(faults) != 1 ||
		!strings.Contains(faults[0].Error(), `plugin "builtin" of `+path+` is already in the built-in registry`) {
		t.Errorf("the faults are %v", faults)
	}
}

// A plugin may include other plugins, whatever the order of their names.
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

// The author's registry file defines a plugin that was already added. Loading both files is an error.
func TestARegistryFileOfAPluginThatWasAdded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	mine := addition(t, "median", "one")
	if err := add(t, path, mine); err != nil {
		t.Fatal(err)
	}
	author := filepath.Join(filepath.Dir(mine.Command[0]), "registry.json")
	for program, want := range map[string]string{
		"./median": "is in " + path + " too, which every run reads: leave " + author +
			" out, or give --no-user-registry",
		"./other": "is already in " + path + ": give it another name, or --no-user-registry",
	} {
		t.Run(program, func(t *testing.T) {
			if err := os.WriteFile(author, []byte(`{"plugins": {"median": {"command": ["`+program+`"]}}}`),
				0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(psbench.Registry, path, author); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s gives %v, want %q", program, err, want)
			}
			if _, err := Load(psbench.Registry, "", author); err != nil {
				t.Errorf("without the user's registry: %v", err)
			}
		})
	}
}

func TestUserFilesThatAreRefused(t *testing.T) {
	user := `{"plugins": {"good": {"command": ["/good"], "sha256": "` + sum +
		`"}}, "server_map": {"mine": {"plugin": "good"}}}`
	path := write(t, "registry.json", user)
	for text, want := range map[string]string{
		`{"plugins": {"good": {"command": ["/other"]}}}`: "is already in " + path +
			": give it another name, or --no-user-registry",
		`{"plugins": {"p": {"command": ["/p"]}}, "server_map": {"mine": {"plugin": "p"}}}`: `the server name "mine" is already in server_map.mine of ` + path,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			if _, err := Load(psbench.Registry, path, write(t, "other.json", text)); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s beside the user's gives %v, want %q", text, err, want)
			}
		})
	}
	if _, err := Load(psbench.Registry, path,
		write(t, "more.json", `{"server_map": {"other": {"plugin": "good"}}}`)); err != nil {
		t.Errorf("a file that uses the user's plugin: %v", err)
	}
	for text, want := range map[string]string{
		`{"plugins": []}`:                 "plugins must be an object",
		`{"plugin": {}}`:                  `unknown key "plugin"`,
		`{"plugins": {"a": {}, "a": {}}}`: `key "plugins.a" is given twice`,
		`{`:                               "line 1, column 2",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Load(psbench.Registry, write(t, "registry.json", text))
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "--no-user-registry") {
				t.Errorf("%s gives %v, want %q", text, err, want)
			}
		})
	}
	for _, open := range []string{path, filepath.Dir(path)} {
		t.Run(open, func(t *testing.T) {
			if err := os.Chmod(open, 0o777); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(psbench.Registry, path); err == nil ||
				!strings.Contains(err.Error(), open+" can be written by others") {
				t.Errorf("%s of mode 0777 gives %v", open, err)
			}
			if err := os.Chmod(open, 0o700); err != nil {
				t.Fatal(err)
			}
		})
	}
	pipe := filepath.Join(t.TempDir(), "registry.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/null", t.TempDir()} {
		t.Run(path, func(t *testing.T) {
			if _, err := Load(psbench.Registry, path); err == nil ||
				!strings.HasSuffix(err.Error(), ": "+path+" is no regular file") {
				t.Errorf("%s gives %v", path, err)
			}
		})
	}
	if _, err := Load(psbench.Registry, filepath.Join(t.TempDir(), "absent.json")); err != nil {
		t.Errorf("without a registry: %v", err)
	}
}

// Reading any file ends. What psbench writes is read again without changes.
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
