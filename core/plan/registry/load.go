package registry

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// builtinFile is the name of the embedded registry in errors and listings.
const builtinFile = "the built-in registry"

// Load reads the built-in registry, the user's registry at the path user, and then the files. If user is "", there is
// no user's registry. No file may redefine what another file defines.
func Load(builtin []byte, user string, files ...string) (*Registry, error) {
	r := &Registry{
		plugins: map[string]plugin{Builtin: {Plugin{Name: Builtin}, builtinFile}},
		items:   map[sdk.Kind]map[string]Item{},
		names:   map[sdk.Kind]map[string]string{},
		faults:  map[sdk.Kind]map[string]error{},
	}
	for _, kind := range Kinds {
		r.items[kind], r.names[kind], r.faults[kind] = map[string]Item{}, map[string]string{}, map[string]error{}
	}
	if err := r.add(builtinFile, builtin); err != nil {
		return nil, err
	}
	if user != "" {
		if err := r.addUser(user); err != nil {
			return nil, err
		}
	}
	for _, path := range files {
		data, err := jsonfile.Read(path)
		if err != nil {
			return nil, err
		}
		if err := r.add(path, data); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Replace reads one more file. The entries of this file replace existing entries with the same keys.
func (r *Registry) Replace(path string) error {
	data, err := jsonfile.Read(path)
	if err != nil {
		return err
	}
	var f File
	if err := jsonfile.Decode(path, data, &f); err != nil {
		return err
	}
	for _, m := range kindMaps {
		for key := range m.entries(&f) {
			r.forget(m.kind, key)
		}
	}
	return r.add(path, data)
}

// forget removes the item with a name.
func (r *Registry) forget(kind sdk.Kind, name string) {
	key, ok := r.names[kind][name]
	if !ok {
		return
	}
	delete(r.items[kind], key)
	maps.DeleteFunc(r.names[kind], func(_, of string) bool { return of == key })
}

// add adds one file. add adds the plugins first, because the maps refer to them.
func (r *Registry) add(path string, data []byte) error {
	var f File
	if err := jsonfile.Decode(path, data, &f); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		if err := r.addPlugin(path, name, f.Plugins[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		if err := r.checkIncludes(path, name, f.Plugins[name].Includes); err != nil {
			return err
		}
	}
	for _, m := range kindMaps {
		entries := m.entries(&f)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if err := r.addItem(quote.Word(path), m, key, entries[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Registry) checkIncludes(path, name string, includes []string) error {
	for _, included := range includes {
		if _, err := r.plugin(included); err != nil {
			return fmt.Errorf("includes of plugin %s of %s %w", quote.String(name), quote.Word(path), err)
		}
	}
	return nil
}

var (
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)
	sha256Pattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func (r *Registry) addPlugin(path, name string, p Program) error {
	shown, file := quote.String(name), quote.Word(path)
	switch known, ok := r.plugins[name]; {
	case ok && known.User && sameProgram(path, p, known.Plugin):
		return fmt.Errorf(
			"plugin %s of %s is in %s too, which every run reads: leave %s out, or give --no-user-registry",
			shown, file, known.file, file)
	case ok && known.User:
		return fmt.Errorf("plugin %s of %s is already in %s: give it another name, or --no-user-registry", shown, file,
			known.file)
	case ok:
		return fmt.Errorf("plugin %s of %s is already in %s: give it another name", shown, file, known.file)
	case !namePattern.MatchString(name):
		return fmt.Errorf("plugin %s of %s must be named with at most 100 letters, digits, _ and -", shown, file)
	case len(p.Command) == 0 || p.Command[0] == "":
		return fmt.Errorf("plugin %s of %s has no command: give the program and its arguments", shown, file)
	case p.SHA256 != "" && !sha256Pattern.MatchString(p.SHA256):
		return fmt.Errorf("plugin %s of %s has the sha256 %s, which must be 64 digits of 0-9 and a-f", shown, file,
			quote.String(p.SHA256))
	}
	command := slices.Clone(p.Command)
	var err error
	if command[0], err = beside(path, command[0]); err != nil {
		return fmt.Errorf("the program of plugin %s of %s cannot be found: %w", shown, file, err)
	}
	for program, sum := range p.Files {
		if !filepath.IsAbs(program) || !sha256Pattern.MatchString(sum) {
			return fmt.Errorf("plugin %s of %s has %s: %s in files, which must be absolute paths with sums of 64 digits of 0-9 and a-f",
				shown, file, quote.String(program), quote.String(sum))
		}
	}
	r.plugins[name] = plugin{Plugin{Name: name, Command: command, SHA256: p.SHA256, Files: p.Files,
		Includes: p.Includes, Contract: p.Contract, File: path}, file}
	return nil
}

// beside returns the program's path. A relative path is relative to the registry file.
func beside(file, program string) (string, error) {
	if filepath.IsAbs(program) {
		return program, nil
	}
	return filepath.Abs(filepath.Join(filepath.Dir(file), program))
}

// sameProgram reports whether a plugin in a registry file has the same program as a known plugin.
func sameProgram(file string, p Program, known Plugin) bool {
	if len(p.Command) == 0 || len(known.Command) == 0 {
		return false
	}
	path, err := beside(file, p.Command[0])
	if err != nil {
		return false
	}
	one, errOne := os.Stat(path)
	other, errOther := os.Stat(known.Command[0])
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}

func (r *Registry) addItem(path string, m kindMap, key string, e entry) error {
	where := fmt.Sprintf("%s.%s of %s", m.name, quote.Word(key), path)
	p, err := r.plugin(e.Plugin)
	if err != nil {
		return fmt.Errorf("%s %w", where, err)
	}
	item := Item{
		Kind: m.kind, Key: key, Aliases: e.Aliases, Description: e.Description,
		Plugin: p, Defaults: e.defaults, File: path,
	}
	switch m.kind {
	case sdk.KindHook:
		item.Links, err = parseLinks(e.links)
	case sdk.KindServer:
		item.Asynchronous = e.asynchronous
		item.Serves, err = parseService("serves", e.serves)
	case sdk.KindTrainer:
		if item.Needs, err = parseService("needs", e.needs); err == nil {
			item.Bounds, err = parseBounds(e.bounds)
		}
	}
	if err != nil {
		return fmt.Errorf("%s %w", where, err)
	}
	names := append([]string{key}, e.Aliases...)
	for _, name := range names {
		if !namePattern.MatchString(name) {
			return fmt.Errorf("%s: the name %s must be made of at most 100 letters, digits, _ and -", where,
				quote.String(name))
		}
		if other, taken := r.names[m.kind][name]; taken {
			return fmt.Errorf("%s: the %s name %q is already in %s.%s of %s",
				where, m.kind, name, m.name, other, r.items[m.kind][other].File)
		}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%s: the %s name %q is already in %s.%s of %s", where, m.kind, name, m.name, key, path)
		}
		r.names[m.kind][name] = key
	}
	r.items[m.kind][key] = item
	return nil
}

func (r *Registry) plugin(name string) (Plugin, error) {
	if p, ok := r.plugins[name]; ok {
		return p.Plugin, nil
	}
	known := slices.Sorted(maps.Keys(r.plugins))
	const all = "\"psbench plugin list\" shows the added plugins"
	if name == "" {
		return Plugin{}, fmt.Errorf("names no plugin: %s", spelling.Choices(name, known, "plugins", all))
	}
	return Plugin{}, fmt.Errorf("names an unknown plugin %s%s", quote.String(name),
		spelling.Hint(name, known, "plugins", all))
}

// parseLinks parses the links of a hook. parseLinks returns nil if the file does not list them.
func parseLinks(names []sdk.Link) (*Links, error) {
	if names == nil {
		return nil, nil
	}
	links, err := LinksOf(names)
	return &links, err
}

// parseService parses the service that a server serves or a trainer needs. parseService returns "" if the file does not
// name one.
func parseService(field, name string) (sdk.Service, error) {
	switch s := sdk.Service(name); s {
	case "", sdk.ServiceGradients, sdk.ServiceTables, sdk.ServiceParameters:
		return s, nil
	default:
		return "", fmt.Errorf("has %s in %s, which must be gradients, tables or parameters", quote.String(name), field)
	}
}

// parseBounds parses which settings must not exceed which other settings, as an entry of a trainer lists them.
func parseBounds(bounds map[string]string) ([]Bound, error) {
	var out []Bound
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		setting, err := parseSettingName(name)
		if err != nil {
			return nil, err
		}
		limit, err := parseSettingName(bounds[name])
		if err != nil {
			return nil, err
		}
		out = append(out, Bound{setting, limit})
	}
	return out, nil
}

func parseSettingName(text string) (SettingName, error) {
	kind, name, _ := strings.Cut(text, ".")
	if name == "" || !slices.Contains(Kinds, sdk.Kind(kind)) {
		return SettingName{}, fmt.Errorf("has %s in bounds, which must be kind.setting, as in server.num_embeddings",
			quote.String(text))
	}
	return SettingName{sdk.Kind(kind), name}, nil
}
