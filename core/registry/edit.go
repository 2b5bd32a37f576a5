package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/executable"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// Description is what a plugin says of itself.
type Description struct {
	Parts    []sdk.Part // without what builds them
	Contract string     // version of the contract that it speaks, as in 1.0
}

// Addition is a plugin that is to be in the user's registry.
type Addition struct {
	// Name is "" for the name under which the command is there already, or else that of the program.
	Name string
	// Command is the program and its arguments, from the working directory.
	Command []string
	// Ask starts the plugin to ask what it is.
	Ask func(ctx context.Context, p Plugin) (Description, error)
}

// Add puts a plugin into the user's registry at a path, with the checksums that its files have
// now and the keys that it says it has. One that is there already with the same command is replaced:
// what people wrote into the entries of its keys stays. It gives the plugin and its parts,
// without those that it shares with psbench itself.
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
	parts, err := ownParts(&p, builtin, said.Parts)
	if err != nil {
		return p, nil, err
	}
	return p, parts, edit(ctx, path, func(u *userFile) error {
		if p.Name, err = u.nameFor(a.Name, p.Command); err != nil {
			return err
		}
		return u.put(p, parts)
	})
}

// inspect finds the files of a command and refuses those that others can write.
func (a Addition) inspect(path string) (Plugin, error) {
	files, err := executable.Files(a.Command)
	if err != nil {
		return Plugin{}, fmt.Errorf("%s cannot be added: %w", quote.Word(a.Command[0]), err)
	}
	p := Plugin{Name: a.Name, Command: slices.Clone(a.Command), SHA256: files[0].SHA256, File: path, User: true}
	p.Command[0] = files[0].Path
	for i, argument := range p.Command[1:] {
		if executable.IsFile(argument) {
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

// ownParts are the parts that are not psbench's own. A program that links all of those
// includes them; one that has the key of some of them by chance is refused.
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
		return nil, fmt.Errorf("plugin %s has the %s %s, which is a name of one of psbench's own: give it another key", p.Name, shared[0].Kind, quote.String(shared[0].Key))
	case len(own) == 0:
		return nil, fmt.Errorf("plugin %s has no parts but psbench's own", p.Name)
	}
	p.Includes = []string{Builtin}
	return own, nil
}

// Remove takes a plugin with all its keys out of the user's registry at a path. It gives
// kinds and keys, in order.
func Remove(ctx context.Context, path, name string) ([]string, error) {
	var keys []string
	err := edit(ctx, path, func(u *userFile) error {
		if _, there := u.sections["plugins"][name]; !there {
			return u.unknown(name)
		}
		keys = u.remove(name)
		delete(u.sections["plugins"], name)
		return nil
	})
	return keys, err
}

func (u *userFile) unknown(name string) error {
	names := slices.Sorted(maps.Keys(u.sections["plugins"]))
	switch near := spelling.Nearest(name, names); {
	case len(names) == 0:
		return fmt.Errorf("there is no plugin %s: %s has none", quote.String(name), quote.Word(u.path))
	case near != "":
		return fmt.Errorf("there is no plugin %s; did you mean %q?", quote.String(name), near)
	default:
		return fmt.Errorf("there is no plugin %s; the plugins are %s", quote.String(name), quote.Message(strings.Join(names, ", ")))
	}
}

// remove takes the keys of a plugin away.
func (u *userFile) remove(name string) (keys []string) {
	for _, m := range (&File{}).maps() {
		for _, key := range slices.Sorted(maps.Keys(u.sections[m.name])) {
			if u.pluginOf(m.name, key) == name {
				delete(u.sections[m.name], key)
				keys = append(keys, string(m.kind)+" "+key)
			}
		}
	}
	return keys
}

// pluginOf is the plugin that an entry of a key names, "" if the entry is broken.
func (u *userFile) pluginOf(section, key string) string {
	var e struct{ Plugin string }
	_ = json.Unmarshal(u.sections[section][key], &e)
	return e.Plugin
}

// commandOf is the command of a plugin, nil if its entry is broken.
func (u *userFile) commandOf(name string) []string {
	var p struct{ Command []string }
	_ = json.Unmarshal(u.sections["plugins"][name], &p)
	return p.Command
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// nameFor is the name of a plugin with that command.
func (u *userFile) nameFor(wanted string, command []string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(u.sections["plugins"])) {
		if !slices.Equal(u.commandOf(name), command) {
			continue
		}
		if wanted == "" || wanted == name {
			return name, nil
		}
		return "", fmt.Errorf("%s is there already, as plugin %s: psbench plugin remove %s takes it away", quote.Word(command[0]), name, name)
	}
	name := wanted
	if name == "" {
		base := filepath.Base(command[0])
		name = strings.Trim(notInNames.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-"), "-")
	}
	switch _, taken := u.sections["plugins"][name]; {
	case name == Builtin || !namePattern.MatchString(name):
		return "", fmt.Errorf("a plugin cannot be named %s: --name must have at most 100 letters, digits, _ and -", quote.String(name))
	case taken:
		return "", fmt.Errorf("plugin %s is there already, with the program %s: give this one another --name, or say psbench plugin remove %s", name, quote.Word(strings.Join(u.commandOf(name), " ")), name)
	}
	return name, nil
}

// put writes the entries of a plugin.
func (u *userFile) put(p Plugin, parts []sdk.Part) error {
	kept := map[string]json.RawMessage{}
	for _, section := range sectionNames[1:] {
		for key, entry := range u.sections[section] {
			if u.pluginOf(section, key) == p.Name {
				kept[section+"."+key] = entry
			}
		}
	}
	u.remove(p.Name)
	if err := u.set("plugins", p.Name, Program{Command: p.Command, SHA256: p.SHA256, Files: p.Files, Contract: p.Contract, Includes: p.Includes}); err != nil {
		return err
	}
	for _, part := range parts {
		section := sectionOf(part.Kind)
		if section == "" {
			return fmt.Errorf("plugin %s has %s %s, which is of no kind that psbench knows", p.Name, quote.Text(string(part.Kind)), quote.String(part.Key))
		}
		if !namePattern.MatchString(part.Key) {
			return fmt.Errorf("plugin %s has the %s %s, but a key must be made of at most 100 letters, digits, _ and -", p.Name, part.Kind, quote.String(part.Key))
		}
		if other := u.pluginOf(section, part.Key); other != "" {
			return fmt.Errorf("plugin %s has the %s %s, which is of plugin %s already: psbench plugin remove %s takes that away", p.Name, part.Kind, part.Key, quote.Word(other), quote.Word(other))
		}
		if entry, had := kept[section+"."+part.Key]; had {
			u.sections[section][part.Key] = entry
		} else if err := u.set(section, part.Key, Entry{Plugin: p.Name}); err != nil {
			return err
		}
	}
	return nil
}

func sectionOf(kind sdk.Kind) string {
	for _, m := range (&File{}).maps() {
		if m.kind == kind {
			return m.name
		}
	}
	return ""
}

func (u *userFile) set(section, name string, entry any) error {
	text, err := json.Marshal(entry)
	if u.sections[section] == nil {
		u.sections[section] = map[string]json.RawMessage{}
	}
	u.sections[section][name] = text
	return err
}

// lockPatience is how long another psbench may have the registry.
const lockPatience = 10 * time.Second

// edit changes the user's registry: alone, and so that a reader finds the old or the new one.
func edit(ctx context.Context, path string, change func(*userFile) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	u, err := readUser(path)
	if err != nil {
		return err
	}
	if err := change(u); err != nil {
		return err
	}
	text, err := u.text()
	if err != nil {
		return err
	}
	return replace(path, text)
}

// lock locks a folder, which is there for good, as a file that is replaced is not.
func lock(ctx context.Context, folder string) (unlock func(), err error) {
	f, err := os.Open(folder) // #nosec G304 -- the user's
	if err != nil {
		return nil, err
	}
	for late := time.Now().Add(lockPatience); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // #nosec G115 -- a descriptor
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(late):
			_ = f.Close()
			return nil, fmt.Errorf("folder %s cannot be locked, another psbench may change it: %w", quote.Word(folder), err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// text is the registry as a file: plugins first, entries in order.
func (u *userFile) text() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"$schema":`)
	if b.Write(u.schema); u.schema == nil {
		b.WriteString(`"https://raw.githubusercontent.com/psbench/psbench/main/schemas/registry.schema.json"`)
	}
	for _, section := range sectionNames {
		if len(u.sections[section]) == 0 {
			continue
		}
		entries, err := json.Marshal(u.sections[section])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%q:%s", section, entries)
	}
	b.WriteString("}")
	var out bytes.Buffer
	err := json.Indent(&out, b.Bytes(), "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), err
}

// replace writes a file in one step, where a link leads if it is one.
func replace(path string, text []byte) error {
	if resolved, err := executable.Resolve(path); err == nil {
		path = resolved
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".registry-*") // only the user can read it
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
