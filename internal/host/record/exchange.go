package record

// Operation is the operation that a link ran on a payload.
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

// Operations holds the name of each operation.
var Operations = map[Operation]string{
	PushPull: "push-pull", AllReduce: "all-reduce", Average: "average", Broadcast: "broadcast",
	ReduceScatter: "reduce-scatter", AllGather: "all-gather", AllToAll: "all-to-all",
}

func (o Operation) String() string { return Operations[o] }

// Exchange is a slice of a payload: the values given to a link, and the values that the operation
// left in their place. checked.Place says where the slice lies.
type Exchange struct {
	Link      string // server, group or default, as sdk.Link; or "hook" for everything that the hook does to a bucket
	Operation Operation
	Batch     int64
	Bucket    int
	Number    int  // counts the link's operations on this bucket in the pass, from 0
	Root      int  // root of a broadcast
	Edges     bool // whether slices include the first and last elements
	Sent, Got Slice
}

// Slice is a part of a gradient.
type Slice struct {
	Values []float32
	// Rows are the row numbers of a sparse gradient. The order of rows starts at the slice's place in
	// the table and wraps around at the end of the table. Rows lists every row that the gradient has
	// among the first Until table rows of that order.
	Rows  []int32
	Until int
}

// Checked is the cost of keeping exchanges.
type Checked struct {
	SpentNS    int64 // time in the pass
	Operations int64 // operations of the links in the pass
}
