package registry

import "slices"

// Named returns the items of all kinds that have a key or an alias, in the order of kinds; an unknown name has none.
// It fails if the user's registry has a broken entry of that name.
func (r *Registry) Named(name string) (items []Item, err error) {
	for _, kind := range Kinds {
		item, err := r.Lookup(kind, name)
		switch {
		case err == nil:
			items = append(items, item)
		case r.Broken(kind, name):
			return nil, err
		}
	}
	return items, nil
}

// AllNames returns the keys and aliases of all kinds in order, each once.
func (r *Registry) AllNames() (names []string) {
	for _, kind := range Kinds {
		names = append(names, r.Names(kind)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
