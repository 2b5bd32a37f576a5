package sdk

import (
	"fmt"
	"strconv"
	"testing"
)

// An elementwise server needs a valid timing. With an invalid timing, the server would leave
// gradients out.
func TestElementwiseServersHaveATiming(t *testing.T) {
	for timing, want := range map[Timing]bool{OnArrival: true, OnLastArrival: true, 0: false, 7: false} {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			declared := func() (ok bool) {
				defer func() { ok = recover() == nil }()
				part := NewElementwiseServer("sum", timing, struct{}{},
					func(struct{}, ServerEnv) (ElementwiseServer, error) { return nil, nil })
				if part.Timing != timing || part.Computes != "sum" || part.Serves != ServiceGradients {
					t.Errorf("timing %d is declared as %+v", timing, part)
				}
				return
			}()
			if declared != want {
				t.Errorf("timing %d is taken: %v, want %v", timing, declared, want)
			}
		})
	}
}

// Only a server that gets the pushes themselves can answer some of them early.
func TestAsynchronousIsForServersOfPushes(t *testing.T) {
	pushes := func(struct{}, ServerEnv) (Server, error) { return nil, nil }
	for i, c := range []struct {
		part Part
		want bool
	}{
		{NewServer("s", struct{}{}, pushes), true},
		{NewParameterServer("s", struct{}{}, pushes), true},
		{NewElementwiseServer("s", OnArrival, struct{}{}, func(struct{}, ServerEnv) (ElementwiseServer, error) {
			return nil, nil
		}), false},
		{NewTableServer("s", struct{}{}, func(struct{}, TableEnv) (TableServer, error) { return nil, nil }), false},
		{NewHook("h", struct{}{}, func(struct{}, HookEnv) (Hook, error) { return nil, nil }), false},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			declared := func() (ok bool) {
				defer func() { ok = recover() == nil }()
				return Asynchronous(c.part).Asynchronous
			}()
			if declared != c.want || c.part.Asynchronous {
				t.Errorf("%s %s of %q is taken: %v", c.part.Kind, c.part.Key, c.part.Serves, declared)
			}
		})
	}
}

// Only elementwise servers have Combine, so only they can be declared by Adding.
func TestAddingIsForElementwiseServers(t *testing.T) {
	for i, c := range []struct {
		part Part
		want bool
	}{
		{NewElementwiseServer("s", OnArrival, struct{}{}, func(struct{}, ServerEnv) (ElementwiseServer, error) {
			return nil, nil
		}), true},
		{NewServer("s", struct{}{}, func(struct{}, ServerEnv) (Server, error) { return nil, nil }), false},
		{NewTableServer("s", struct{}{}, func(struct{}, TableEnv) (TableServer, error) { return nil, nil }), false},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			declared := func() (ok bool) {
				defer func() { ok = recover() == nil }()
				return Adding(c.part).Adds
			}()
			if declared != c.want || c.part.Adds {
				t.Errorf("a server of %s is taken: %v", c.part.Serves, declared)
			}
		})
	}
}

// A quorum must name an integer setting of the server.
func TestQuorumIsASetting(t *testing.T) {
	type settings struct {
		Size  int    `json:"size" doc:"a count"`
		Words string `json:"words" doc:"no count"`
	}
	part := NewServer("s", settings{}, func(settings, ServerEnv) (Server, error) { return nil, nil })
	for setting, want := range map[string]bool{"size": true, "words": false, "none": false} {
		t.Run(setting, func(t *testing.T) {
			declared := func() (ok bool) {
				defer func() { ok = recover() == nil }()
				return WithQuorum(setting, part).Quorum == setting
			}()
			if declared != want || part.Quorum != "" || part.Asynchronous {
				t.Errorf("setting %s is taken: %v", setting, declared)
			}
		})
	}
}
