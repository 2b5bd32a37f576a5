// Package registry reads registry.json: which plugin provides which key of
// which kind.
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

// Builtin is the name of the plugin that psbench itself is.
const Builtin = "builtin"

// Plugin is an executable that provides parts.
type Plugin struct {
	Name string
	// Command is the program and its arguments; empty for the built-in plugin,
	// which is this executable started again. A relative program is looked up
	// beside the registry file that names it.
	Command []string
	// SHA256 of the program in hex, checked before start.
	SHA256 string
	// Files are the checksums of what else the command runs, by path: of a script's
	// interpreter, of an argument that is a file.
	Files map[string]string
	// Contract is the version of the contract that it spoke when it was added.
	Contract string
	// File is the registry file that names it.
	File string
	// User says that this is the user's own: nothing that it runs may be writable by others.
	User bool
	// Fault, if set, is why it cannot be used.
	Fault error
	// Includes names the other plugins whose parts the program serves too.
	Includes []string
	// Memory is what a process of it may use, in bytes; 0: as much as there is. The user says
	// it for a run, no registry file does.
	Memory int64
}

// FilePaths are the paths of Files in order.
func (p Plugin) FilePaths() []string { return slices.Sorted(maps.Keys(p.Files)) }

// Has says whether the program serves the parts of the plugin of that name.
func (p Plugin) Has(plugin string) bool {
	return p.Name == plugin || slices.Contains(p.Includes, plugin)
}

// Links says which links a hook uses.
type Links struct {
	Server  bool // push/pull with the trainer's server
	Group   bool // the trainers' process group
	Default bool // a second group of the same members
}

// LinksOf are the links of a list.
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

// Bound is a setting that must not exceed another one, of another part perhaps. Where
// only one of them is given, both are of that size.
type Bound struct{ Setting, Limit SettingName }

// Item is a key of a kind.
type Item struct {
	Kind        sdk.Kind
	Key         string
	Aliases     []string
	Description string
	Plugin      Plugin
	// What the file says of a hook, of a server and of a trainer, which say so themselves:
	// nil and "" where it does not.
	Links        *Links
	Serves       sdk.Service
	Asynchronous *bool // of a server
	Needs        sdk.Service
	Bounds       []Bound // of a trainer
	// Defaults of a trainer or a model are values of options that nobody gave.
	Defaults map[string]any
	// File is the registry file that the item comes from.
	File string
	// Hidden says that no list has it.
	Hidden bool
}

// Registry is what one or more registry files say together.
type Registry struct {
	plugins map[string]plugin
	items   map[sdk.Kind]map[string]Item
	names   map[sdk.Kind]map[string]string // key or alias to key
	faults  map[sdk.Kind]map[string]error  // by key: of the user's registry, whose entry is broken
	// nameless are the faults of entries of the user's registry whose names are psbench's own.
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

// Break makes who looks an item up get err instead, where it is of the user's registry: err is
// nil then.
func (r *Registry) Break(item Item, err error) error {
	if !item.Plugin.User || item.File != quote.Word(item.Plugin.File) {
		return err
	}
	r.faults[item.Kind][item.Key] = err
	delete(r.items[item.Kind], item.Key)
	return nil
}

// Broken says whether the user's registry has an entry for a key that cannot be used.
func (r *Registry) Broken(kind sdk.Kind, key string) bool {
	item := r.items[kind][r.names[kind][key]]
	return r.faults[kind][key] != nil || item.Plugin.Fault != nil
}

// Faults are what is wrong with entries of the user's registry, in order.
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

// Plugins lists the plugins in the order of their names.
func (r *Registry) Plugins() []Plugin {
	var plugins []Plugin
	for _, name := range slices.Sorted(maps.Keys(r.plugins)) {
		plugins = append(plugins, r.plugins[name].Plugin)
	}
	return plugins
}

// Items lists the items of a kind in the order of their keys.
func (r *Registry) Items(kind sdk.Kind) []Item {
	var items []Item
	for _, key := range r.Keys(kind) {
		items = append(items, r.items[kind][key])
	}
	return items
}

// Keys lists the keys of a kind in order.
func (r *Registry) Keys(kind sdk.Kind) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.items[kind])),
		func(key string) bool { return r.items[kind][key].Hidden })
}

// Names lists the keys and the aliases of a kind in order.
func (r *Registry) Names(kind sdk.Kind) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.names[kind])),
		func(name string) bool { return r.items[kind][r.names[kind][name]].Hidden })
}

// Hide leaves items out of all lists. Lookup finds them.
func (r *Registry) Hide(hidden func(kind sdk.Kind, key string) bool) {
	for kind, items := range r.items {
		for key, item := range items {
			item.Hidden = item.Hidden || hidden(kind, key)
			items[key] = item
		}
	}
}
