package record

// Operation is what a link did with a payload.
type Operation int

// The operations of links.
const (
	PushPull Operation = iota + 1
	AllReduce
	Average
	Broadcast
	ReduceScatter
	AllGather
	AllToAll
)

// Operations are the names of the operations.
var Operations = map[Operation]string{
	PushPull: "push-pull", AllReduce: "all-reduce", Average: "average", Broadcast: "broadcast",
	ReduceScatter: "reduce-scatter", AllGather: "all-gather", AllToAll: "all-to-all",
}

func (o Operation) String() string { return Operations[o] }

// Exchange is a slice of a payload as a process gave it to a link, and of what that left in its
// place. Where the slice lies checked.Place says.
type Exchange struct {
	Link      string // server, group or default, as sdk.Link; or hook, all that the hook does to a bucket
	Operation Operation
	Batch     int64
	Bucket    int
	Number    int  // of the operation among the link's operations on this bucket in the pass, from 0
	Root      int  // of a broadcast
	Edges     bool // the slices have the first and the last elements, too
	Sent, Got Slice
}

// Slice is a part of a gradient.
type Slice struct {
	Values []float32
	// Rows of a sparse gradient, in the order of the table from the place of the slice on and round
	// to it: all that it has of the first Until rows of that order.
	Rows  []int32
	Until int
}

// Checked is what the keeping of exchanges cost.
type Checked struct {
	SpentNS    int64 // in the pass
	Operations int64 // that the links carried out in the pass
}
