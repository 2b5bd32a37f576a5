package config

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// Every item is described by its own plugin. An item that cannot be described causes a warning and stays in the list.
func TestDescribeAllWarnsOfWhatIsNotKnown(t *testing.T) {
	item := func(key, plugin string) registry.Item {
		return registry.Item{Kind: sdk.KindServer, Key: key, Plugin: registry.Plugin{Name: plugin}, File: "r.json"}
	}
	catalogue := func(_ context.Context, p registry.Plugin) ([]sdk.Part, error) {
		if p.Name == "broken" {
			return nil, errors.New("it does not start")
		}
		return []sdk.Part{{Kind: sdk.KindServer, Key: "one", Serves: sdk.ServiceTables}}, nil
	}
	lying := item("one", "good")
	lying.Serves = sdk.ServiceGradients
	var warnings []string
	got, err := DescribeAll(t.Context(), []registry.Item{item("one", "good"), item("two", "broken"),
		item("three", "good"), lying}, catalogue, func(err error) { warnings = append(warnings, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"one", "", "", "one"} {
		if got[i].Part.Key != want {
			t.Errorf("item %d is described as %+v, want the key %q", i, got[i].Part, want)
		}
	}
	want := []string{
		"the settings of server two of plugin broken are not known: it does not start",
		"the settings of server three of plugin good are not known: plugin good does not provide server three, though r.json says so",
		CheckDeclared(lying, got[3].Part).Error(),
	}
	if d := cmp.Diff(want, warnings); d != "" {
		t.Error(d)
	}
}

// If the user interrupts DescribeAll, it returns the reason.
func TestDescribeAllEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	cancel(stop)
	if _, err := DescribeAll(ctx, nil, nil, nil); !errors.Is(err, stop) {
		t.Errorf("the error is %v, want %v", err, stop)
	}
}
