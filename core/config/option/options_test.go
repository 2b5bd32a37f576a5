package option

import (
	"strings"
	"testing"
)

func TestEveryOptionIsDescribed(t *testing.T) {
	groups := map[string]bool{}
	for _, g := range Groups {
		groups[g.Name] = true
	}
	for _, o := range All() {
		if o.Key == "" || o.Doc == "" || !groups[o.Group] {
			t.Errorf("option %+v lacks a key, a description or a known group", o)
		}
		if strings.ContainsAny(o.Key, "- ") {
			t.Errorf("key %q must be words with underscores", o.Key)
		}
	}
}
