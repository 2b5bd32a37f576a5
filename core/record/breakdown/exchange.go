package breakdown

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// These are types of series that hooks record for buckets. The keys of such series are {batch},{bucket}.
const (
	hookMetric = record.FutureMetric
	// CodecMetric is the type of the series for encoding and decoding buckets.
	CodecMetric = "codec_metric"
)

// These are series that a server records for buckets. The keys of these series are {batch},{bucket} too.
var (
	straggler = Metric{"parameter_server_straggler_metric", "param_index_straggler"}
	answered  = Metric{"parameter_server_batch_metric", "param_index_batch"}
)

// Exchange is the reduction of one bucket from the point of view of one trainer. Exchange lasts from the call of the
// trainer's hook until the result is available. The four parts of an Exchange follow each other, with one exception:
// transfer happens both before and after the reduction.
type Exchange struct {
	Rank int
	Key  sdk.Key // {batch},{bucket}
	// HookNS is the time until the hook called a link. HookNS is 0 if the hook did not record this.
	HookNS int64
	// WaitingNS is the time until the last of the trainers that wait for each other was ready. A trainer is ready when
	// its hook calls a link. If the hook did not record this call, the trainer is ready when its hook is called.
	WaitingNS int64
	// ReductionNS is the time from when the server received the last gradient until it had answered all trainers.
	// ReductionNS is 0 without a server.
	ReductionNS int64
	// TransferNS is the remaining time. If trainers reduce among themselves, it includes their additions.
	TransferNS int64
}

// Exchanges yields the exchanges of all buckets that hooks measured. Exchanges omits asynchronous servers, which do not
// wait for all trainers.
func Exchanges(r *result.Result) iter.Seq[Exchange] {
	return func(yield func(Exchange) bool) {
		for _, ranks := range r.Connected {
			if !exchangesOf(r, ranks, yield) {
				return
			}
		}
	}
}

// exchangesOf yields the exchanges of connected trainers. If a server reduces the bucket, only the trainers of this
// server wait for each other. Otherwise all connected trainers do.
func exchangesOf(r *result.Result, ranks []int, yield func(Exchange) bool) bool {
	size := gridOf(r, ranks)
	all := size.grid()
	type peers struct {
		ranks                    []int
		apartNS                  int64 // possible difference between the clocks of the ranks and their server
		pushed, arrived, replied grid
	}
	var groups []*peers
	byServer := map[int]*peers{}
	byRank := map[int]calls{}
	for _, rank := range ranks {
		server := ServerOf(r, rank)
		g := byServer[server]
		if g == nil {
			g = &peers{pushed: size.grid(), arrived: size.grid(), replied: size.grid()}
			byServer[server], groups = g, append(groups, g)
			ends(trainer{r, server}, straggler, g.arrived)
			ends(trainer{r, server}, answered, g.replied)
		}
		g.ranks = append(g.ranks, rank)
		c := callsOf(r, rank, size)
		byRank[rank] = c
		for m := range hooked(r, rank) {
			_, calledNS := c.of(m)
			all.latest(m.Key, calledNS)
			g.pushed.latest(m.Key, calledNS)
		}
	}
	for _, g := range groups {
		involved := slices.Clone(ranks)
		if server := ServerOf(r, g.ranks[0]); server >= 0 {
			involved = append(involved, server)
		}
		g.apartNS = r.ApartNS(involved)
		for _, rank := range g.ranks {
			planned := plans(r, rank)
			for m := range hooked(r, rank) {
				pushed, arrived, replied := g.pushed.at(m.Key), g.arrived.at(m.Key), g.replied.at(m.Key)
				if planned || arrived == 0 || replied == 0 { // no server reduced the bucket as a whole
					pushed, arrived, replied = all.at(m.Key), 0, 0
				}
				fromNS, calledNS := byRank[rank].of(m)
				if !yield(cut(rank, m, fromNS, calledNS, pushed, arrived, replied, g.apartNS)) {
					return false
				}
			}
		}
	}
	return true
}

// calls holds, for each bucket, when a trainer's hook was called and when the hook called a link.
type calls struct{ from, called grid }

// callsOf returns the calls of a hook. The result is empty if the hook recorded none.
func callsOf(r *result.Result, rank int, s size) (c calls) {
	for m := range ofType(r, rank, record.HookMetric) {
		if c.called.ns == nil {
			c = calls{s.grid(), s.grid()}
		}
		c.from.earliest(m.Key, m.StartNS)
		c.called.latest(m.Key, m.StartNS+m.DurationNS)
	}
	return c
}

// of returns when the hook received the bucket of m, and when the hook called a link for it.
func (c calls) of(m sdk.Measurement) (fromNS, calledNS int64) {
	fromNS, calledNS = m.StartNS, m.StartNS
	if ns := c.called.at(m.Key); ns > 0 {
		fromNS, calledNS = min(fromNS, c.from.at(m.Key)), ns
	}
	return fromNS, min(calledNS, m.StartNS+m.DurationNS)
}

// cut divides the time of a bucket at four moments. First the trainer's hook calls a link, then the last trainer's hook
// calls a link. Then the server has received the last gradient, and then it has answered all trainers. The clocks of
// other hosts may be wrong, so cut moves a moment that lies before the previous one. apartNS is the possible difference
// between clocks. A wait that is not longer counts as no wait.
func cut(rank int, m sdk.Measurement, fromNS, calledNS, pushedNS, arrivedNS, repliedNS, apartNS int64) Exchange {
	end := m.StartNS + m.DurationNS
	e := Exchange{Rank: rank, Key: m.Key, HookNS: calledNS - fromNS}
	began := min(max(pushedNS, calledNS), end)
	if e.WaitingNS = began - calledNS; e.WaitingNS <= apartNS {
		began, e.WaitingNS = calledNS, 0
	}
	if arrivedNS > 0 {
		from := min(max(arrivedNS, began), end)
		e.ReductionNS = min(max(repliedNS, from), end) - from
		if apartNS > 0 { // the difference is exact, because both times are from the server's clock
			e.ReductionNS = min(max(0, repliedNS-arrivedNS), end-began)
		}
	}
	e.TransferNS = end - fromNS - e.HookNS - e.WaitingNS - e.ReductionNS
	return e
}

// hooked yields the buckets that a trainer's hook measured. The operations of a traffic plan count as one measurement
// of their bucket, from the first start to the last end.
func hooked(r *result.Result, rank int) iter.Seq[sdk.Measurement] {
	return func(yield func(sdk.Measurement) bool) {
		planned := map[sdk.Key]sdk.Measurement{}
		for _, s := range r.Series {
			if s.Rank != rank || s.Type != hookMetric {
				continue
			}
			for m := range s.All() {
				if record.OfRound(s.Type, s.Name) {
					planned[m.Key] = joined(planned, m)
				} else if !yield(m) {
					return
				}
			}
		}
		keys := slices.SortedFunc(maps.Keys(planned), func(a, b sdk.Key) int {
			return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
		})
		for _, key := range keys {
			if !yield(planned[key]) {
				return
			}
		}
	}
}

// joined returns a measurement that covers m and the measurement with the same key.
func joined(all map[sdk.Key]sdk.Measurement, m sdk.Measurement) sdk.Measurement {
	earlier, ok := all[m.Key]
	if !ok {
		return m
	}
	fromNS, toNS := min(earlier.StartNS, m.StartNS), max(earlier.StartNS+earlier.DurationNS, m.StartNS+m.DurationNS)
	return sdk.Measurement{Key: m.Key, StartNS: fromNS, DurationNS: toNS - fromNS}
}

// plans reports whether a trainer's hook ran the rounds of a traffic plan. A server then numbers payloads, not buckets.
func plans(r *result.Result, rank int) bool {
	return slices.ContainsFunc(r.Series, func(s *result.Series) bool {
		return s.Rank == rank && record.OfRound(s.Type, s.Name)
	})
}

// ofType yields the measurements of all series with a type that a rank recorded.
func ofType(r *result.Result, rank int, typ string) iter.Seq[sdk.Measurement] {
	return func(yield func(sdk.Measurement) bool) {
		for _, s := range r.Series {
			if s.Rank != rank || s.Type != typ {
				continue
			}
			for m := range s.All() {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// ServerOf returns the rank of a trainer's server by the rule of config.World, or -1 if the trainer has none.
func ServerOf(r *result.Result, rank int) int {
	var trainers, servers []int
	for _, p := range r.Processes {
		switch p.Kind {
		case "trainer":
			trainers = append(trainers, p.Rank)
		case "server":
			servers = append(servers, p.Rank)
		}
	}
	slices.Sort(trainers)
	slices.Sort(servers)
	place := slices.Index(trainers, rank)
	if place < 0 || len(servers) == 0 || len(trainers)%len(servers) != 0 {
		return -1
	}
	return servers[place*len(servers)/len(trainers)]
}

// ends stores in g when the measurements of a metric ended.
func ends(t trainer, metric Metric, g grid) {
	if s := t.series(metric); s != nil {
		for m := range s.All() {
			g.latest(m.Key, m.StartNS+m.DurationNS)
		}
	}
}

// size is the number of batches and buckets in a grid.
type size struct{ batches, buckets int64 }

// gridOf returns the size of a grid for all recorded keys. gridOf limits the size to the batches and buckets that the
// run can have.
func gridOf(r *result.Result, ranks []int) size {
	s := size{buckets: int64(len(r.Buckets))}
	count := int64(0)
	for _, rank := range ranks {
		for m := range hooked(r, rank) {
			s.batches = max(s.batches, m.Key.A+1)
			count++
		}
	}
	if s.buckets > 0 {
		s.batches = min(s.batches, 2*count/s.buckets+1) // a plugin's own numbers may have gaps, but not many
	}
	return s
}

func (s size) grid() grid { return grid{s, make([]int64, s.batches*s.buckets)} }

// grid holds one time for each batch and bucket. 0 means no time.
type grid struct {
	size
	ns []int64
}

// latest stores a time if it is later than the stored one.
func (g grid) latest(key sdk.Key, ns int64) {
	if i, ok := g.place(key); ok {
		g.ns[i] = max(g.ns[i], ns)
	}
}

// earliest stores a time if it is earlier than the stored one.
func (g grid) earliest(key sdk.Key, ns int64) {
	if i, ok := g.place(key); ok && (g.ns[i] == 0 || ns < g.ns[i]) {
		g.ns[i] = ns
	}
}

func (g grid) at(key sdk.Key) int64 {
	if i, ok := g.place(key); ok {
		return g.ns[i]
	}
	return 0
}

func (g grid) place(key sdk.Key) (int64, bool) {
	return key.A*g.buckets + key.B, key.A >= 0 && key.A < g.batches && key.B >= 0 && key.B < g.buckets
}
