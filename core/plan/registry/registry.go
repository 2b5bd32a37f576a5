// Package registry reads registry files, which say which plugin provides which key of which kind.
package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// Builtin is the name of the plugin that is psbench itself.
const Builtin = "builtin"

// Plugin is an executable that provides parts.
type Plugin struct {
	Name string
	// Command is the program and its arguments. It is empty for the built-in plugin, which is this executable
	// started again. A relative path starts at the registry file that names it.
	Command []string
	// SHA256 of the program in hex, checked before start.
	SHA256 string
	// Files are the checksums of the other files that the command runs, by path: the interpreter of a script, and
	// arguments that are files.
	Files map[string]string
	// Contract is the version of its contract when it was added.
	Contract string
	// File is the registry file that names it.
	File string
	// User marks a plugin of the user's registry: other users must not be able to write any of its files.
	User bool
	// Fault, if set, says why it cannot be used.
	Fault error
	// Includes names other plugins whose parts the program serves too.
	Includes []string
	// Memory limits each of its processes, in bytes; 0 means no limit. The user sets it for a run; registry files
	// cannot.
	Memory int64
}

// FilePaths returns the paths of Files in order.
func (p Plugin) FilePaths() []string { return slices.Sorted(maps.Keys(p.Files)) }

// Has reports whether the program serves the parts of the named plugin.
func (p Plugin) Has(plugin string) bool {
	return p.Name == plugin || slices.Contains(p.Includes, plugin)
}

// Links says which links a hook uses.
type Links struct {
	Server  bool // push/pull with the trainer's server
	Group   bool // the trainers' process group
	Default bool // a second group of the same members
}

// LinksOf converts a list to Links.
func LinksOf(list []sdk.Link) (l Links, err error) {
	for _, link := range list {
		switch link {
		case sdk.LinkServer:
			l.Server = true
		case sdk.LinkGroup:
			l.Group = true
		case sdk.LinkDefault:
			l.Default = true
		default:
			return l, fmt.Errorf("has the link %s, which must be server, group or default", quote.String(string(link)))
		}
	}
	return l, nil
}

// List is the inverse of LinksOf.
func (l Links) List() (list []sdk.Link) {
	for _, link := range []struct {
		name sdk.Link
		used bool
	}{{sdk.LinkServer, l.Server}, {sdk.LinkGroup, l.Group}, {sdk.LinkDefault, l.Default}} {
		if link.used {
			list = append(list, link.name)
		}
	}
	return list
}

func (l Links) String() string {
	var names []string
	for _, link := range l.List() {
		names = append(names, string(link))
	}
	if names == nil {
		return "no links"
	}
	return "the links " + strings.Join(names, ", ")
}

// SettingName names a setting of the chosen part of a kind.
type SettingName struct {
	Kind sdk.Kind
	Name string
}

func (n SettingName) String() string { return fmt.Sprintf("%s.%s", n.Kind, n.Name) }

// Bound is a setting that must not exceed another one, possibly of another part. If only one of them is given, the
// other one takes its value.
type Bound struct{ Setting, Limit SettingName }

// Item is a key of a kind.
type Item struct {
	Kind        sdk.Kind
	Key         string
	Aliases     []string
	Description string
	Plugin      Plugin
	// Declarations of the file about a hook, a server or a trainer, which also declare them themselves; nil or ""
	// if the file does not say.
	Links        *Links
	Serves       sdk.Service
	Asynchronous *bool // of a server
	Needs        sdk.Service
	Bounds       []Bound // of a trainer
	// Defaults are values of options that a trainer or a model sets unless the user does.
	Defaults map[string]any
	// File is the registry file that the item comes from.
	File string
	// Hidden excludes the item from all lists.
	Hidden bool
}

// Registry combines one or more registry files.
type Registry struct {
	plugins map[string]plugin
	items   map[sdk.Kind]map[string]Item
	names   map[sdk.Kind]map[string]string // key or alias to key
	faults  map[sdk.Kind]map[string]error  // by key, for broken entries of the user's registry
	// nameless are the faults of entries of the user's registry whose names belong to psbench itself.
	nameless []error
}

// plugin is a plugin and the file that names it.
type plugin struct {
	Plugin
	file string
}

// Lookup finds an item by its key or one of its aliases.
func (r *Registry) Lookup(kind sdk.Kind, name string) (Item, error) {
	if err := r.faults[kind][name]; err != nil {
		return Item{}, err
	}
	if key, ok := r.names[kind][name]; ok {
		item := r.items[kind][key]
		return item, item.Plugin.Fault
	}
	hint := ""
	if near := spelling.Nearest(name, r.Names(kind)); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return Item{}, fmt.Errorf("unknown %s %s; %s%s", kind, quote.String(name), hint,
		spelling.Choices(name, r.Keys(kind), "keys", fmt.Sprintf("psbench list %s shows all", kind)))
}

// Break makes later lookups of an item of the user's registry return err; Break then returns nil. For other items
// it returns err.
func (r *Registry) Break(item Item, err error) error {
	if !item.Plugin.User || item.File != quote.Word(item.Plugin.File) {
		return err
	}
	r.faults[item.Kind][item.Key] = err
	delete(r.items[item.Kind], item.Key)
	return nil
}

// Broken reports whether the user's registry has a broken entry for a key.
func (r *Registry) Broken(kind sdk.Kind, key string) bool {
	item := r.items[kind][r.names[kind][key]]
	return r.faults[kind][key] != nil || item.Plugin.Fault != nil
}

// Faults returns what is wrong with entries of the user's registry, in order.
func (r *Registry) Faults() []error {
	faults := slices.Clone(r.nameless)
	for _, p := range r.Plugins() {
		if p.Fault != nil {
			faults = append(faults, p.Fault)
		}
	}
	for _, kind := range Kinds {
		for _, key := range slices.Sorted(maps.Keys(r.faults[kind])) {
			faults = append(faults, r.faults[kind][key])
		}
	}
	return faults
}

// Plugins returns the plugins in the order of their names.
func (r *Registry) Plugins() []Plugin {
	var plugins []Plugin
	for _, name := range slices.Sorted(maps.Keys(r.plugins)) {
		plugins = append(plugins, r.plugins[name].Plugin)
	}
	return plugins
}

// Items returns the items of a kind in the order of their keys.
func (r *Registry) Items(kind sdk.Kind) []Item {
	var items []Item
	for _, key := range r.Keys(kind) {
		items = append(items, r.items[kind][key])
	}
	return items
}

// Keys returns the keys of a kind in order.
func (r *Registry) Keys(kind sdk.Kind) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.items[kind])),
		func(key string) bool { return r.items[kind][key].Hidden })
}

// Names returns the keys and aliases of a kind in order.
func (r *Registry) Names(kind sdk.Kind) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.names[kind])),
		func(name string) bool { return r.items[kind][r.names[kind][name]].Hidden })
}

// Hide excludes items from all lists. Lookup still finds them.
func (r *Registry) Hide(hidden func(kind sdk.Kind, key string) bool) {
	for kind, items := range r.items {
		for key, item := range items {
			item.Hidden = item.Hidden || hidden(kind, key)
			items[key] = item
		}
	}
}
