package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/quote"
)

// UserFile returns the path of the user's registry. The registry is in the folder XDG_CONFIG_HOME, by default
// ~/.config. UserFile returns "" for a user without a home folder.
func UserFile(environ []string) string {
	values := map[string]string{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	folder := values["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(folder) {
		if !filepath.IsAbs(values["HOME"]) {
			return ""
		}
		folder = filepath.Join(values["HOME"], ".config")
	}
	return filepath.Join(folder, "psbench", "registry.json")
}

// userFile is the user's registry. userFile stores the entries as text, so that an entry that is not valid does not
// affect other entries.
type userFile struct {
	path     string
	data     []byte
	schema   json.RawMessage
	sections map[string]map[string]json.RawMessage // by the name of a map; includes the map of plugins
}

// pluginSection is the name of the map of plugins.
const pluginSection = "plugins"

// sectionNames lists the maps of a registry file in order.
var sectionNames = func() []string {
	names := []string{pluginSection}
	for _, m := range kindMaps {
		names = append(names, m.name)
	}
	return names
}()

// readUser reads the user's registry. A missing file counts as empty. readUser returns an error for a file that other
// users can write, because the file names programs that psbench runs.
func readUser(path string) (*userFile, error) {
	resolved, err := executable.Resolve(path)
	if errors.Is(err, fs.ErrNotExist) {
		return parseUser(path, []byte("{}"))
	}
	if err == nil && !executable.IsFile(resolved) { // reading a pipe might never end
		err = fmt.Errorf("%s is no regular file", quote.Word(path))
	}
	if err == nil {
		err = executable.Guard(resolved)
	}
	if err != nil {
		return nil, err
	}
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
	}
	return parseUser(path, data)
}

func parseUser(path string, data []byte) (*userFile, error) {
	u := &userFile{path: path, data: data, sections: map[string]map[string]json.RawMessage{}}
	top := map[string]json.RawMessage{}
	if err := jsonfile.Decode(path, data, &top); err != nil {
		return nil, err
	}
	u.schema = top["$schema"]
	delete(top, "$schema")
	for _, name := range slices.Sorted(maps.Keys(top)) {
		if !slices.Contains(sectionNames, name) {
			return nil, fmt.Errorf("%s: unknown key %s; the keys are %s", quote.Word(path), quote.String(name),
				strings.Join(sectionNames, ", "))
		}
		var entries map[string]json.RawMessage
		if err := json.Unmarshal(top[name], &entries); err != nil {
			return nil, fmt.Errorf("%s: %s must be an object: {...}", quote.Word(path), name)
		}
		u.sections[name] = entries
	}
	return u, nil
}

// entryText returns the text of one entry. entryText replaces all text before the entry by spaces, except line ends, so
// that errors have the correct line and column.
func (u *userFile) entryText(section, name string) []byte {
	raw := u.sections[section][name]
	at := max(bytes.Index(u.data, raw), 0)
	return append(bytes.Map(func(c rune) rune {
		if c == '\n' {
			return c
		}
		return ' '
	}, u.data[:at]), raw...)
}

// program parses the entry of a plugin.
func (u *userFile) program(name string) (p Program, err error) {
	return p, jsonfile.Decode(u.path, u.entryText(pluginSection, name), &p)
}

// entry parses the entry of a key.
func (u *userFile) entry(m kindMap, key string) (entry, error) {
	return m.parse(u.path, u.entryText(m.name, key))
}

// addUser adds the user's registry. An entry that is not valid causes an error only when it is looked up.
func (r *Registry) addUser(path string) error {
	u, err := readUser(path)
	if err != nil {
		return fmt.Errorf("your plugin registry cannot be used, --no-user-registry ignores it: %w", err)
	}
	r.takeUser(u)
	return nil
}

func (r *Registry) takeUser(u *userFile) {
	path := u.path
	names := slices.Sorted(maps.Keys(u.sections[pluginSection]))
	for _, name := range names {
		p, err := u.program(name)
		if err == nil {
			err = r.addUserPlugin(path, name, p)
		}
		switch _, taken := r.plugins[name]; {
		case err == nil:
		case taken: // psbench itself uses the name
			r.nameless = append(r.nameless, err)
		default:
			r.plugins[name] = plugin{Plugin{Name: name, File: path, User: true, Fault: err}, path}
		}
	}
	for _, name := range names { // every name is in r.plugins by now
		if p := r.plugins[name]; p.File == path && p.Fault == nil {
			p.Fault = r.checkIncludes(path, name, p.Includes)
			r.plugins[name] = p
		}
	}
	for _, m := range kindMaps {
		for _, key := range slices.Sorted(maps.Keys(u.sections[m.name])) {
			e, err := u.entry(m, key)
			if err == nil {
				err = r.addItem(quote.Word(path), m, key, e)
			}
			if err != nil {
				r.faults[m.kind][key] = err
			}
		}
	}
}

func (r *Registry) addUserPlugin(path, name string, p Program) error {
	if p.SHA256 == "" {
		return fmt.Errorf("plugin %s of %s has no sha256, which your registry requires: psbench plugin add writes it",
			quote.String(name), quote.Word(path))
	}
	if err := r.addPlugin(path, name, p); err != nil {
		return err
	}
	known := r.plugins[name]
	known.User = true
	r.plugins[name] = known
	return nil
}
