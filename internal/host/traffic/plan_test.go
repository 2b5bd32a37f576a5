package traffic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// operation returns an operation of a group; float32 for the empty type.
func operation(kind sdk.OperationKind, typ tensor.Type, elements int) sdk.Operation {
	return sdk.Operation{Kind: kind, Type: typ, Elements: elements}
}

// one returns a plan with one operation for bucket 0.
func one(o sdk.Operation) sdk.Traffic { return sdk.Traffic{{{o}}} }

// Each kind of operation takes exactly the element types that its link can carry.
func TestTypesOfOperations(t *testing.T) {
	floats := []tensor.Type{tensor.Float32, tensor.Float16, tensor.BFloat16}
	sums := append(floats[:3:3], tensor.Int32, tensor.Int64)
	for kind, types := range map[sdk.OperationKind][]tensor.Type{
		sdk.PushPull: floats[:1], sdk.AllReduce: sums, sdk.ReduceScatter: sums, sdk.Average: floats,
		sdk.Broadcast: tensor.Types, sdk.AllGather: tensor.Types, sdk.AllToAll: tensor.Types,
	} {
		t.Run(string(kind), func(t *testing.T) {
			var taken []tensor.Type
			for _, typ := range tensor.Types {
				err := Check(one(operation(kind, typ, 1)), make([]tensor.BucketSpec, 1), 2,
					[]sdk.Link{sdk.LinkServer, sdk.LinkGroup})
				if err == nil {
					taken = append(taken, typ)
				}
			}
			if d := cmp.Diff(types, taken); d != "" {
				t.Error(d)
			}
		})
	}
	if len(kinds) != 7 {
		t.Errorf("%d kinds of operation, 7 tested", len(kinds))
	}
}

func TestImpossiblePlans(t *testing.T) {
	gather := operation(sdk.AllGather, tensor.Int8, 4)
	for name, c := range map[string]struct {
		plan  sdk.Traffic
		links []sdk.Link
		want  string
	}{
		"possible":         {one(gather), []sdk.Link{sdk.LinkGroup}, ""},
		"too many buckets": {sdk.Traffic{nil, nil, nil}, nil, "it plans bucket 2, but the buckets are 0 to 1"},
		"too many rounds":  {sdk.Traffic{make([]sdk.Round, 17)}, nil, "bucket 0 has 17 rounds, but at most 16 are possible"},
		"too many operations": {sdk.Traffic{{make(sdk.Round, 65)}}, nil,
			"bucket 0, round 0 has 65 operations, but at most 64 are possible"},
		"an empty round": {sdk.Traffic{nil, {{gather}, {}}}, []sdk.Link{sdk.LinkGroup},
			"bucket 1, round 1 has no operation: leave the round out"},
		"no link": {one(gather), []sdk.Link{sdk.LinkServer},
			"bucket 0, round 0, allgather of 4 int8: the hook declares no link group"},
		"no kind": {one(sdk.Operation{}), []sdk.Link{sdk.LinkGroup},
			"bucket 0, round 0, of 0 float32: the kinds of operation are pushpull, allreduce, average, broadcast, reducescatter, allgather and alltoall"},
		"below 0": {one(operation(sdk.AllGather, tensor.Int8, -1)), []sdk.Link{sdk.LinkGroup},
			"bucket 0, round 0, allgather of -1 int8: a payload has 1 to 2147483647 elements"},
		"above the limit": {one(operation(sdk.AllGather, tensor.Int8, 1<<31)), []sdk.Link{sdk.LinkGroup},
			"bucket 0, round 0, allgather of 2147483648 int8: a payload has 1 to 2147483647 elements"},
		"no root": {one(sdk.Operation{Kind: sdk.Broadcast, Type: tensor.Int8, Elements: 1, Root: -1}),
			[]sdk.Link{sdk.LinkGroup}, "bucket 0, round 0, broadcast of 1 int8 from -1: root -1 is no position: these are 0 to 1"},
		"a bucket that no link takes": {one(operation(sdk.PushPull, tensor.Float32, 1)), []sdk.Link{sdk.LinkServer},
			"it pushes payloads to the server, which then takes no buckets: plan rounds for every bucket"},
		"a bucket that the group takes": {one(operation(sdk.PushPull, tensor.Float32, 1)),
			[]sdk.Link{sdk.LinkServer, sdk.LinkGroup}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Check(c.plan, make([]tensor.BucketSpec, 2), 2, c.links); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Payloads that one owner could store are refused if all owners on a host together could not.
func TestReserve(t *testing.T) {
	gather := operation(sdk.AllGather, tensor.Int8, 4)
	if err := Reserve([]string{"trainer0", "trainer1"}, one(gather)); err != nil {
		t.Error(err)
	}
	var huge sdk.Traffic
	for range 1 << 10 { // 8 TiB
		huge = append(huge, []sdk.Round{{operation(sdk.AllReduce, tensor.Float32, 1<<31-1)}})
	}
	const want = "the payloads of trainer0 and trainer1 need 16 TiB, which does not fit: "
	if err := Reserve([]string{"trainer0", "trainer1"}, huge); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := Reserve(nil, huge); err != nil {
		t.Errorf("no owner needs memory, but %v", err)
	}
}

func TestDifference(t *testing.T) {
	a, b := operation(sdk.AllReduce, tensor.Float32, 3), operation(sdk.AllReduce, tensor.Float16, 3)
	plan := sdk.Traffic{nil, {{a}, {a, a}}}
	for name, c := range map[string]struct {
		other sdk.Traffic
		want  string
	}{
		"none":      {sdk.Traffic{nil, {{a}, {a, a}}}, ""},
		"longer":    {sdk.Traffic{nil, {{a}, {a, a}}, nil}, ""},
		"type":      {sdk.Traffic{nil, {{a}, {a, b}}}, "for bucket 1, round 1, operation 1, x plans allreduce of 3 float32 and y allreduce of 3 float16"},
		"operation": {sdk.Traffic{nil, {{a}, {a}}}, "for bucket 1, round 1, operation 1, x plans allreduce of 3 float32 and y none"},
		"round":     {sdk.Traffic{nil, {{a}}}, "for bucket 1, round 1, operation 0, x plans allreduce of 3 float32 and y none"},
		"bucket":    {sdk.Traffic{{{b}}}, "for bucket 0, round 0, operation 0, x plans none and y allreduce of 3 float16"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := difference(plan, c.other, "x", "y"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// drawn draws a plan of pushes and all-gathers.
func drawn(t *rapid.T) sdk.Traffic {
	operation := rapid.Custom(func(t *rapid.T) sdk.Operation {
		return sdk.Operation{
			Kind: rapid.SampledFrom([]sdk.OperationKind{sdk.PushPull, sdk.AllGather}).Draw(t, "kind"),
			Type: tensor.Float32, Elements: rapid.IntRange(1, 9).Draw(t, "elements"),
		}
	})
	return rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sdk.Round {
		return rapid.SliceOfN(operation, 1, 3).Draw(t, "round")
	}), 0, 4), 1, 5).Draw(t, "plan")
}

// Every operation has a payload on its link, and each link's payloads are numbered from 0.
func TestPayloadsCoverThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := drawn(t)
		pushed, grouped := Payloads(plan)
		operations, payloads := 0, len(pushed)
		for _, rounds := range plan {
			for _, round := range rounds {
				operations += len(round)
			}
			if len(rounds) > len(grouped) {
				t.Fatalf("a bucket has %d rounds, but payloads are laid for %d", len(rounds), len(grouped))
			}
		}
		for _, list := range append(grouped, pushed) {
			for i, spec := range list {
				if spec.Index != i {
					t.Fatalf("payload %d has index %d", i, spec.Index)
				}
			}
		}
		for _, list := range grouped {
			payloads += len(list)
		}
		if payloads != operations {
			t.Fatalf("%d payloads for %d operations", payloads, operations)
		}
	})
}
