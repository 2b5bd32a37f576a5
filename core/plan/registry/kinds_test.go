package registry

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/psbench/psbench/sdk"
)

// A file has one map for each kind. An entry that Put adds can be read again.
func TestMapsOfKinds(t *testing.T) {
	var file File
	var kinds []sdk.Kind
	for _, m := range kindMaps {
		kinds = append(kinds, m.kind)
		file.Put(m.kind, "mine", Builtin)
	}
	slices.Sort(kinds)
	if known := slices.Sorted(slices.Values(Kinds)); !slices.Equal(kinds, known) {
		t.Errorf("the maps are of the kinds %v, but psbench knows %v", kinds, known)
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := Load(text, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) {
			if item, err := reg.Lookup(kind, "mine"); err != nil || item.Plugin.Name != Builtin {
				t.Errorf("%s has the %s %v: %v", MapName(kind), kind, item, err)
			}
		})
	}
	if name := MapName("gradient"); name != "" {
		t.Errorf("an unknown kind has the map %s", name)
	}
}
