package timeline

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// keys says what the keys of a series mean.
type keys int

const (
	ofIteration keys = iota // keys are {epoch},{index}
	ofEpoch                 // keys are {epoch},0
	ofBatch                 // keys are {batch},{anything}
	ofBucket                // keys are {batch},{bucket}
	ofTrainer               // keys are {batch},{trainer}
	ofNeither               // keys are other numbers
)

// part is the role of a span in an exchange between ranks.
type part int

const (
	alone part = iota
	reduction
	lookup
	update
)

// sort says how the measurements of a series are drawn.
type sort struct {
	lane string
	name string // "" for spans that are named after their bucket
	keys keys
	part part
	// inner means that the span lies within the span of its bucket.
	inner bool
}

// sortOf returns how a series is drawn, or false if it is not drawn.
func sortOf(kind string, s *result.Series) (sort, bool) {
	switch {
	case s.Type == breakdown.DeviceMetric:
		return sortOfDevice(kind, s), !breakdown.IsDeviceWhole(s.Name)
	case kind == "server":
		return sortOfServer(s)
	}
	switch m := (breakdown.Metric{Type: s.Type, Name: s.Name}); {
	case m.Type == "forward_metric":
		return sort{lane: Compute, name: "forward"}, breakdown.IsPart(m)
	case m.Type == "lookup_metric":
		return sort{lane: Compute, name: "lookup", part: lookup}, breakdown.IsPart(m)
	case breakdown.IsPart(m):
		return sort{lane: Compute, name: m.Name}, true
	}
	if record.OfRound(s.Type, s.Name) { // without arrows: a server numbers payloads, not buckets
		return sort{lane: Communication, name: s.Name, keys: ofBucket}, true
	}
	switch s.Type {
	case "evaluation_metric":
		return sort{lane: Compute, name: Evaluation, keys: ofEpoch}, true
	case record.FutureMetric, "hook_c10d_metric":
		return sort{lane: Communication, keys: ofBucket, part: reduction}, true
	case "update_metric":
		return sort{lane: Communication, name: "update of tables", part: update}, true
	case breakdown.CodecMetric, "staging_metric":
		return sort{lane: Communication, name: s.Name, keys: ofBucket, inner: true}, true
	}
	return sort{}, false
}

// sortOfDevice returns how a series of events on a device is drawn. A group records its sums by bucket, and a server
// its work by push. Other series have their own numbers.
func sortOfDevice(kind string, s *result.Series) sort {
	made := sort{lane: Device, name: strings.TrimPrefix(s.Name, "device "), keys: ofBatch}
	copied := s.Name == "device copy out" || s.Name == "device copy in"
	if copied {
		made.lane = DeviceCopies
	}
	switch server := kind == "server"; {
	case s.Name == "device sum" || server && (copied || s.Name == "device average"):
		made.keys = ofBucket
	case server:
		made.keys = ofNeither
	}
	return made
}

func sortOfServer(s *result.Series) (sort, bool) {
	switch s.Type {
	case "parameter_server_batch_metric":
		return sort{lane: Work, keys: ofBucket, part: reduction}, true
	case "parameter_server_straggler_metric":
		return sort{lane: Work, name: "waiting for the last gradient", keys: ofBucket, inner: true}, true
	case "method_metric":
		return sort{lane: Work, name: s.Name, keys: ofBucket, inner: true}, true
	case "embedding_metric":
		if s.Name == "lookup" {
			return sort{lane: Work, name: "lookup", keys: ofTrainer, part: lookup}, true
		}
		return sort{lane: Work, name: "update", keys: ofTrainer, part: update}, s.Name == "update"
	case "batch_update_metric":
		if s.Name == "got update" {
			return sort{lane: Work, name: "gradients added", keys: ofNeither}, true
		}
		return sort{lane: Work, name: "optimizer", keys: ofNeither}, s.Name == "updated model"
	}
	return sort{}, false
}

// item is a span, with the data that is needed to place it and to draw its arrows.
type item struct {
	Span
	sort
	rank    int
	trainer int // rank of the trainer that called a table, or -1
	place   Place
	// calledNS is when the hook called its link for the bucket of a reduction. If the hook did not record this,
	// calledNS is the start of the span.
	calledNS int64
}

// iterations are some iterations of a trainer, or of all trainers of a server.
type iterations struct {
	from, to int64
	of       map[sdk.Key]int64 // keyed by {epoch},{index}
	last     map[int64]int64   // last iteration of each epoch
	// before is the number of batches that were sent to the server before the first iteration.
	before int64
}

// item converts a measurement to an item. item returns false if the measurement belongs to none of the iterations.
func (it iterations) item(rank int, s sort, m sdk.Measurement) (*item, bool) {
	i := &item{
		Span: Span{Name: s.name, StartNS: m.StartNS, EndNS: m.StartNS + max(0, m.DurationNS), Iteration: -1,
			Bucket: -1},
		sort: s, rank: rank, trainer: -1, calledNS: m.StartNS,
	}
	there := true
	switch s.keys {
	case ofIteration:
		i.Iteration, there = it.of[m.Key]
	case ofEpoch:
		i.Iteration, there = it.last[m.Key.A]
	case ofBatch, ofBucket, ofTrainer:
		i.Iteration = m.Key.A - it.before
		there = it.from <= i.Iteration && i.Iteration < it.to
		switch s.keys {
		case ofTrainer:
			i.trainer = int(m.Key.B)
			return i, there
		case ofBatch:
			return i, there
		}
		if i.Bucket = int(m.Key.B); s.name == "" {
			i.Name = fmt.Sprintf("bucket %d", i.Bucket)
		}
	case ofNeither:
	}
	return i, there
}
