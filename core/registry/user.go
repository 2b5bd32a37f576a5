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

	"github.com/psbench/psbench/core/executable"
	"github.com/psbench/psbench/core/jsonfile"
	"github.com/psbench/psbench/internal/quote"
)

// UserFile is where the registry of a user lies: in the folder that XDG_CONFIG_HOME of the
// environment names, ~/.config by default. It is "" for a user without a home.
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

// userFile is the registry of a user, whose entries stay as they were written: one that is
// broken harms no other.
type userFile struct {
	path     string
	data     []byte
	schema   json.RawMessage
	sections map[string]map[string]json.RawMessage // by the name of a map, and plugins
}

// sectionNames are the maps of a registry file in their order.
var sectionNames = func() []string {
	names := []string{"plugins"}
	for _, m := range (&File{}).maps() {
		names = append(names, m.name)
	}
	return names
}()

// readUser reads the registry of a user; where there is none it is empty. One that others can
// write is refused, since it says which programs run.
func readUser(path string) (*userFile, error) {
	resolved, err := executable.Resolve(path)
	if errors.Is(err, fs.ErrNotExist) {
		return parseUser(path, []byte("{}"))
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
			return nil, fmt.Errorf("%s: unknown key %s; the keys are %s", quote.Word(path), quote.String(name), strings.Join(sectionNames, ", "))
		}
		var entries map[string]json.RawMessage
		if err := json.Unmarshal(top[name], &entries); err != nil {
			return nil, fmt.Errorf("%s: %s must be an object: {...}", quote.Word(path), name)
		}
		u.sections[name] = entries
	}
	return u, nil
}

// entry reads one entry alone, as a file without any other.
func (u *userFile) entry(section, name string) (f File, err error) {
	raw := u.sections[section][name]
	// What stands before it becomes blank, so that errors have its line and column.
	at := max(bytes.Index(u.data, raw), 0)
	text := append(bytes.Map(func(c rune) rune {
		if c == '\n' {
			return c
		}
		return ' '
	}, u.data[:at]), raw...)
	switch section {
	case "plugins":
		return f, only(&f.Plugins, u.path, name, text)
	case "server_map":
		return f, only(&f.ServerMap, u.path, name, text)
	case "trainer_map":
		return f, only(&f.TrainerMap, u.path, name, text)
	case "ddp_hook_map":
		return f, only(&f.DDPHookMap, u.path, name, text)
	case "ddp_model_map":
		return f, only(&f.DDPModelMap, u.path, name, text)
	case "hook_state_map":
		return f, only(&f.HookStateMap, u.path, name, text)
	case "iteration_step_map":
		return f, only(&f.IterationStepMap, u.path, name, text)
	case "preprocess_data_map":
		return f, only(&f.PreprocessMap, u.path, name, text)
	case "criterion_map":
		return f, only(&f.CriterionMap, u.path, name, text)
	case "data_map":
		return f, only(&f.DataMap, u.path, name, text)
	default:
		return f, only(&f.ModelMap, u.path, name, text)
	}
}

// only makes a map hold one entry.
func only[E any](m *map[string]E, path, name string, text []byte) error {
	var e E
	err := jsonfile.Decode(path, text, &e)
	*m = map[string]E{name: e}
	return err
}

// addUser takes in the registry of a user. What is wrong with one of its entries is told to
// who looks that up.
func (r *Registry) addUser(path string) error {
	u, err := readUser(path)
	if err != nil {
		return fmt.Errorf("the registry of your plugins cannot be used, --no-user-registry leaves it out: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(u.sections["plugins"])) {
		f, err := u.entry("plugins", name)
		if err == nil {
			err = r.addUserPlugin(path, name, f.Plugins[name])
		}
		if _, taken := r.plugins[name]; err != nil && !taken {
			r.plugins[name] = plugin{Plugin{Name: name, File: path, User: true, Fault: err}, path}
		}
	}
	for _, section := range sectionNames[1:] {
		for _, key := range slices.Sorted(maps.Keys(u.sections[section])) {
			f, err := u.entry(section, key)
			for _, m := range f.maps() {
				if m.name != section {
					continue
				}
				if err == nil {
					err = r.addItem(quote.Word(path), m, key)
				}
				if err != nil {
					r.faults[m.kind][key] = err
				}
			}
		}
	}
	return nil
}

func (r *Registry) addUserPlugin(path, name string, p Program) error {
	if p.SHA256 == "" {
		return fmt.Errorf("plugin %s of %s has no sha256, which it must have there: psbench plugin add writes it", quote.String(name), quote.Word(path))
	}
	if err := r.addPlugin(path, name, p); err != nil {
		return err
	}
	known := r.plugins[name]
	known.User = true
	known.Fault = r.checkIncludes(path, name, p)
	r.plugins[name] = known
	return nil
}
