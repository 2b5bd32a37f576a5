// Package registry reads registry files. A registry file says which plugin provides which keys of which kind.
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
	// Command is the program and its arguments. For the built-in plugin, Command is empty, because that plugin is this
	// executable. A relative path is relative to the registry file.
	Command []string
	// SHA256 is the checksum of the program in hex. SHA256 is checked before each start.
	SHA256 string
	// Files contains the checksums of the other files that the command runs, by path. The files are the interpreter of
	// a script, and arguments that are files.
	Files map[string]string
	// Contract is the version of the plugin's contract at the time when the plugin was added.
	Contract string
	// File is the registry file that lists the plugin.
	File string
	// User means that the user's registry lists the plugin. Other users must then not be able to write its files.
	User bool
	// Fault, if set, says why the plugin cannot be used.
	Fault error
	// Includes lists other plugins whose parts the program provides too.
	Includes []string
	// Memory limits the memory of each of the plugin's processes, in bytes. 0 means no limit. The user sets it for a
	// run; registry files cannot set it.
	Memory int64
}

// FilePaths returns the sorted paths of Files.
func (p Plugin) FilePaths() []string { return slices.Sorted(maps.Keys(p.Files)) }

// Has reports whether the program provides the parts of the named plugin.
func (p Plugin) Has(plugin string) bool {
	return p.Name == plugin || slices.Contains(p.Includes, plugin)
}

// Links says which links a hook uses.
type Links struct {
	Server  bool // push and pull with the trainer's server
	Group   bool // process group of the trainers
	Default bool // second group with the same members
}

// LinksOf converts a list of links to Links.
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

// List converts Links back to a list.
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

// SettingName identifies a setting by its name and the kind of its part.
type SettingName struct {
	Kind sdk.Kind
	Name string
}

func (n SettingName) String() string { return fmt.Sprintf("%s.%s", n.Kind, n.Name) }

// Bound means that Setting must not exceed Limit. The two settings may belong to different parts. If only one of the
// two settings is given, the other takes its value.
type Bound struct{ Setting, Limit SettingName }

// Item is one key of a kind.
type Item struct {
	Kind        sdk.Kind
	Key         string
	Aliases     []string
	Description string
	Plugin      Plugin
	// Links, Serves, Asynchronous and Needs are what the registry file says about a hook, server or trainer. The part's
	// plugin declares this too. These fields are nil or "" if the file says nothing.
	Links        *Links
	Serves       sdk.Service
	Asynchronous *bool // only for servers
	Needs        sdk.Service
	Bounds       []Bound // only for trainers
	// Defaults are values of options. A trainer or model sets these defaults unless the user gives other values.
	Defaults map[string]any
	// File is the registry file that contains the item.
	File string
	// Hidden excludes the item from all lists.
	Hidden bool
}

// Registry combines one or more registry files.
type Registry struct {
	plugins map[string]plugin
	items   map[sdk.Kind]map[string]Item
	names   map[sdk.Kind]map[string]string // key or alias to key
	faults  map[sdk.Kind]map[string]error  // invalid entries of the user's registry, by key
	// nameless holds the errors for entries of the user's registry whose names psbench itself uses.
	nameless []error
}

// plugin is a plugin with the file that lists it.
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

// Break marks an item of the user's registry as not valid, so that later lookups return err. Break then returns nil.
// For other items, Break returns err.
func (r *Registry) Break(item Item, err error) error {
	if !item.Plugin.User || item.File != quote.Word(item.Plugin.File) {
		return err
	}
	r.faults[item.Kind][item.Key] = err
	delete(r.items[item.Kind], item.Key)
	return nil
}

// Broken reports whether the user's registry has an entry for a key that is not valid.
func (r *Registry) Broken(kind sdk.Kind, key string) bool {
	item := r.items[kind][r.names[kind][key]]
	return r.faults[kind][key] != nil || item.Plugin.Fault != nil
}

// Faults returns the errors of all entries in the user's registry, in order.
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

// Plugins returns all plugins, sorted by name.
func (r *Registry) Plugins() []Plugin {
	var plugins []Plugin
	for _, name := range slices.Sorted(maps.Keys(r.plugins)) {
		plugins = append(plugins, r.plugins[name].Plugin)
	}
	return plugins
}

// Items returns the items of a kind, sorted by key.
func (r *Registry) Items(kind sdk.Kind) []Item {
	var items []Item
	for _, key := range r.Keys(kind) {
		items = append(items, r.items[kind][key])
	}
	return items
}

// Keys returns the sorted keys of a kind.
func (r *Registry) Keys(kind sdk.Kind) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.items[kind])),
		func(key string) bool { return r.items[kind][key].Hidden })
}

// Names returns the sorted keys and aliases of a kind.
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
