package registry

import "slices"

// Named returns the items of all kinds that have this key or alias, in the order of kinds. For an unknown name, Named
// returns no items. Named returns an error if the entry with this name in the user's registry is not valid.
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

// AllNames returns the keys and aliases of all kinds, sorted and without duplicates.
func (r *Registry) AllNames() (names []string) {
	for _, kind := range Kinds {
		names = append(names, r.Names(kind)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
