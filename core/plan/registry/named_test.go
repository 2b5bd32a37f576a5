package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Several kinds may have the same key or alias.
func TestNamedFindsItemsOfAllKinds(t *testing.T) {
	r, err := Load([]byte(`{
		"server_map": {"one": {"plugin": "builtin", "description": "a"}},
		"data_map": {"two": {"plugin": "builtin", "description": "b", "aliases": ["one"]}}
	}`), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"one": {"one", "two"}, "two": {"two"}, "three": nil} {
		items, err := r.Named(name)
		var got []string
		for _, item := range items {
			got = append(got, item.Key)
		}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s names %v, %v:\n%s", name, got, err, d)
		}
	}
	if d := cmp.Diff([]string{"one", "two"}, r.AllNames()); d != "" {
		t.Error(d)
	}
}
