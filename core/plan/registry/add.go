package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// Description is what a plugin reports about itself.
type Description struct {
	Parts    []sdk.Part // without the functions that build them
	Contract string     // version of its contract, such as 1.0
}

// Addition describes a plugin to add to the user's registry.
type Addition struct {
	// Name is the name for the plugin. If Name is "", the name under which the command is already registered is used,
	// or else the name of the program.
	Name string
	// Command is the program and its arguments. A relative path is relative to the working directory.
	Command []string
	// Ask starts the plugin and returns its description.
	Ask func(ctx context.Context, p Plugin) (Description, error)
	// Internal lists psbench's own parts that no registry contains. Any plugin may provide them.
	Internal []sdk.Part
}

// Add adds a plugin to the user's registry at path. The entries contain the current checksums of the plugin's files and
// the keys of its parts. If a plugin with the same command is already there, Add replaces it, but keeps what people
// wrote into its entries. Add returns the plugin and its parts, without the parts that it shares with psbench.
func Add(ctx context.Context, path string, builtin []byte, a Addition) (Plugin, []sdk.Part, error) {
	p, err := a.inspect(path)
	if err != nil {
		return p, nil, err
	}
	known, err := readUser(path)
	if err != nil {
		return p, nil, err
	}
	if p.Name, err = known.nameFor(a.Name, p.Command); err != nil {
		return p, nil, err
	}
	said, err := a.Ask(ctx, p)
	if err != nil {
		return p, nil, err
	}
	p.Contract = said.Contract
	parts, err := ownParts(&p, builtin, slices.DeleteFunc(said.Parts, a.internal))
	if err != nil {
		return p, nil, err
	}
	written, err := a.written(p.Command[0])
	if err != nil {
		return p, nil, err
	}
	return p, parts, edit(ctx, path, func(u *userFile) error {
		if p.Name, err = u.nameFor(a.Name, p.Command); err != nil {
			return err
		}
		if err := u.put(p, parts, written); err != nil {
			return err
		}
		return u.check(builtin, p.Name)
	})
}

func (a Addition) internal(part sdk.Part) bool {
	return slices.ContainsFunc(a.Internal, func(p sdk.Part) bool { return p.Kind == part.Kind && p.Key == part.Key })
}

// check returns an error if no run could use an entry of the plugin, such as an alias that psbench itself uses.
func (u *userFile) check(builtin []byte, name string) error {
	r, err := Load(builtin, "")
	if err != nil {
		return err
	}
	r.takeUser(u)
	for _, m := range kindMaps {
		for _, key := range slices.Sorted(maps.Keys(u.sections[m.name])) {
			if err := r.faults[m.kind][key]; err != nil && u.pluginOf(m.name, key) == name {
				return err
			}
		}
	}
	return nil
}

// written returns the entries that the plugin's author wrote, by map and key. The entries contain aliases, descriptions
// and defaults, which the plugin itself does not report. The entries are in the file registry.json in the program's
// folder. This file must name the command. A registry.json for another command is ignored. A file that other users can
// write is refused.
func (a Addition) written(program string) (map[string]json.RawMessage, error) {
	path := filepath.Join(filepath.Dir(program), "registry.json")
	if !executable.IsFile(path) {
		return nil, nil
	}
	guarded := guard(path) // checks the file before it is read
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, nil
	}
	u, err := parseUser(path, data)
	if err != nil {
		return nil, nil
	}
	entries := map[string]json.RawMessage{}
	for _, m := range kindMaps {
		for key, entry := range u.sections[m.name] {
			command := u.commandOf(u.pluginOf(m.name, key))
			if len(command) == 0 || !slices.Equal(command[1:], a.Command[1:]) {
				continue
			}
			if !filepath.IsAbs(command[0]) {
				command[0] = filepath.Join(filepath.Dir(path), command[0])
			}
			if resolved, err := executable.Resolve(command[0]); err != nil || resolved != program {
				continue
			}
			if guarded != nil {
				return nil, fmt.Errorf("%s cannot be added with the files beside it: %w", quote.Word(a.Command[0]),
					guarded)
			}
			if _, err := u.entry(m, key); err != nil {
				return nil, err
			}
			entries[m.name+"."+key] = entry
		}
	}
	return entries, nil
}

// guard calls executable.Guard for the file to which a path leads after links are resolved.
func guard(path string) error {
	resolved, err := executable.Resolve(path)
	if err != nil {
		return err
	}
	return executable.Guard(resolved)
}

// inspect finds the files of the command. inspect returns an error if other users can write one of these files.
func (a Addition) inspect(path string) (Plugin, error) {
	command := slices.Clone(a.Command)
	if path, err := exec.LookPath(command[0]); err == nil && !executable.IsFile(command[0]) {
		command[0] = path
	}
	files, err := executable.Files(command)
	if err != nil {
		return Plugin{}, fmt.Errorf("%s cannot be added: %w", quote.Word(a.Command[0]), err)
	}
	p := Plugin{Name: a.Name, Command: command, SHA256: files[0].SHA256, File: path, User: true}
	p.Command[0] = files[0].Path
	for i, argument := range p.Command[1:] {
		if executable.NamesFile(argument) {
			if p.Command[1+i], err = executable.Resolve(argument); err != nil {
				return p, err
			}
		}
	}
	for i, f := range files {
		if err := executable.Guard(f.Path); err != nil {
			return p, fmt.Errorf("%s cannot be added: %w", quote.Word(a.Command[0]), err)
		}
		if i > 0 {
			if p.Files == nil {
				p.Files = map[string]string{}
			}
			p.Files[f.Path] = f.SHA256
		}
	}
	return p, nil
}

// ownParts returns the parts that are not psbench's own. If the program contains all of psbench's parts, the plugin
// includes them. If the program contains only some of their keys, ownParts returns an error.
func ownParts(p *Plugin, builtin []byte, parts []sdk.Part) ([]sdk.Part, error) {
	r, err := Load(builtin, "")
	if err != nil {
		return nil, err
	}
	var own, shared []sdk.Part
	for _, part := range parts {
		if _, taken := r.names[part.Kind][part.Key]; taken {
			shared = append(shared, part)
		} else {
			own = append(own, part)
		}
	}
	total := 0
	for _, kind := range Kinds {
		total += len(r.items[kind])
	}
	switch {
	case len(own) == 0 && len(shared) == 0:
		return nil, fmt.Errorf("plugin %s has no parts", p.Name)
	case len(shared) == 0:
		return own, nil
	case len(shared) < total:
		return nil, fmt.Errorf("plugin %s has the %s %s, which is also a name of one of psbench's own: give it another key",
			p.Name, shared[0].Kind, quote.String(shared[0].Key))
	case len(own) == 0:
		return nil, fmt.Errorf("plugin %s has only psbench's own parts", p.Name)
	}
	p.Includes = []string{Builtin}
	return own, nil
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// nameFor returns the name for a plugin with this command.
func (u *userFile) nameFor(wanted string, command []string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(u.sections[pluginSection])) {
		if !slices.Equal(u.commandOf(name), command) {
			continue
		}
		if wanted == "" || wanted == name {
			return name, nil
		}
		return "", fmt.Errorf("%s is already registered, as plugin %s: psbench plugin remove %s removes it",
			quote.Word(command[0]), name, name)
	}
	name := wanted
	if name == "" {
		base := filepath.Base(command[0])
		name = strings.Trim(notInNames.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-"), "-")
	}
	switch _, taken := u.sections[pluginSection][name]; {
	case name == Builtin || !namePattern.MatchString(name):
		return "", fmt.Errorf("a plugin cannot be named %s: --name must have at most 100 letters, digits, _ and -",
			quote.String(name))
	case taken:
		return "",
			fmt.Errorf("plugin %s is already registered, with the program %s: give this one another --name, or run psbench plugin remove %s",
				name, quote.Word(strings.Join(u.commandOf(name), " ")), name)
	}
	return name, nil
}

// put writes the entries of a plugin. For each key, put keeps an existing entry. If a key has no entry, put uses the
// author's entry.
func (u *userFile) put(p Plugin, parts []sdk.Part, written map[string]json.RawMessage) error {
	kept := maps.Clone(written)
	if kept == nil {
		kept = map[string]json.RawMessage{}
	}
	for _, section := range sectionNames[1:] {
		for key, entry := range u.sections[section] {
			if u.pluginOf(section, key) == p.Name {
				kept[section+"."+key] = entry
			}
		}
	}
	u.remove(p.Name)
	if err := u.set(pluginSection, p.Name,
		Program{Command: p.Command, SHA256: p.SHA256, Files: p.Files, Contract: p.Contract,
			Includes: p.Includes}); err != nil {
		return err
	}
	for _, part := range parts {
		section := MapName(part.Kind)
		if section == "" {
			return fmt.Errorf("plugin %s has %s %s, but psbench knows no such kind", p.Name,
				quote.Text(string(part.Kind)), quote.String(part.Key))
		}
		if !namePattern.MatchString(part.Key) {
			return fmt.Errorf("plugin %s has the %s %s, but a key must be made of at most 100 letters, digits, _ and -",
				p.Name, part.Kind, quote.String(part.Key))
		}
		if other := u.pluginOf(section, part.Key); other != "" {
			return fmt.Errorf(
				"plugin %s has the %s %s, which is of plugin %s already: psbench plugin remove %s takes that away",
				p.Name, part.Kind, part.Key, quote.Word(other), quote.Word(other))
		}
		entry := map[string]json.RawMessage{}
		if text, had := kept[section+"."+part.Key]; had {
			if err := json.Unmarshal(text, &entry); err != nil {
				return err
			}
		}
		entry["plugin"] = json.RawMessage(strconv.Quote(p.Name))
		if err := u.set(section, part.Key, entry); err != nil {
			return err
		}
	}
	return nil
}
