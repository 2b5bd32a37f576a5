// Package view is what a page shows of runs: one document, made of a study and of the folders of its
// runs. A page knows nothing else; everything that it draws is in the document, and what is judged is
// judged here, by core/study/model, and not once more in the browser.
package view

import (
	"time"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/judge"
)

// Schema names the format of a Document.
const Schema = "psbench.page/1"

// Document is a page. Lists are never null. Of what is not finite there is null.
type Document struct {
	Schema string `json:"schema"`
	// Name is that of the folder, or how many runs there are.
	Name string `json:"name"`
	// Title is Name, of a path its last part.
	Title string `json:"title"`
	// Heading counts cells and runs, in a sentence.
	Heading string `json:"heading"`
	// Machine is the machine in a sentence, as psbench show has it.
	Machine string    `json:"machine"`
	Made    time.Time `json:"made"`
	Psbench string    `json:"psbench"` // version and commit of the psbench that made the page
	// Sentences are the answer.
	Sentences []Sentence `json:"sentences"`
	// Warnings are one sentence each, of the whole study.
	Warnings []string `json:"warnings"`
	// Remarks are what psbench show has below its table: floor, early, p99, checked, failed, skipped. The floor is
	// that of Metric; Judged has those of all metrics.
	Remarks []Sentence `json:"remarks"`

	// Metric is the one that cells are compared by, at first.
	Metric string `json:"metric"`
	// Metrics are those that at least one run has.
	Metrics []Metric `json:"metrics"`
	Axes    []Axis   `json:"axes"`
	// Within is the axis, by name, along which nothing is compared: where a cell is the baseline, so is at each
	// other value of that axis the cell that is like it. "" of none.
	Within string `json:"within"`
	// Cells are in the order of the study, the A/A cell last.
	Cells []Cell `json:"cells"`
	// Baseline is the place in Cells of what the others are compared with, at first; -1 without cells.
	Baseline int `json:"baseline"`
	// Judged has, by metric, all cells against each baseline that the page offers.
	Judged map[string]Judged `json:"judged"`
	Runs   []Run             `json:"runs"`
	// Details are of the median and the worst run of each cell.
	Details []Detail `json:"details"`
	// Environments are those that runs had, each once; the first is that of the first run.
	Environments []Environment `json:"environments"`
	// Sampling says in a sentence what was left out of series, and how; "" if nothing was.
	Sampling string `json:"sampling"`
	// Comm is nil unless the study is of psbench comm.
	Comm *Comm `json:"comm,omitempty"`
	// Live is nil of a page of what has ended.
	Live *Live `json:"live,omitempty"`
}

// OneRun says that the page is of a single run, so that it has no cells to speak of.
func (d *Document) OneRun() bool {
	return len(d.Cells) == 1 && len(d.Cells[0].Runs)+len(d.Cells[0].Failed)+d.Cells[0].Waiting == 1
}

// Sentence is an answer or a remark, and what it is about.
type Sentence struct {
	Label  string `json:"label"`
	Text   string `json:"text"`
	Detail bool   `json:"detail,omitempty"` // shown only on demand
}

// Metric is a number that runs have.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"` // higher or lower
	Means  string `json:"means"`
}

// Axis is a value, or some that change together, that differs between cells.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// The states of cells.
const (
	Done    = "done"
	Partial = "partial" // some of its runs failed or are waiting
	Failed  = "failed"  // all of its runs did
	Waiting = "waiting" // none has ended
	Skipped = "skipped"
	Same    = "same" // another cell has its runs
)

// Cell is one point of the matrix.
type Cell struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Again says that it is the A/A cell.
	Again  bool     `json:"again"`
	Values []string `json:"values"` // on the axes
	State  string   `json:"state"`
	Reason string   `json:"reason"` // why it was skipped, or what its first failure said
	Same   int      `json:"same"`   // the place of the cell that has its runs, -1 if it has its own
	// Runs are places in Document.Runs.
	Runs    []int     `json:"runs"`
	Waiting int       `json:"waiting"` // runs still to come
	Failed  []Failure `json:"failed"`
	// Warnings of its runs and of what they show, in full, and Shorts the same in a word or two.
	Warnings []string `json:"warnings"`
	Shorts   []string `json:"shorts"`
	// Environment is the place of that of its first run, -1 without one.
	Environment int `json:"environment"`
	// Median and Worst are the places of their details in Document.Details, by the metric of the
	// document; -1 without runs. With a single run both are the same.
	Median int `json:"median"`
	Worst  int `json:"worst"`
}

// Failure is a run that did not come to its end.
type Failure struct {
	Folder string `json:"folder"`
	Round  int    `json:"round"`
	Reason string `json:"reason"`
	Logs   []Log  `json:"logs"`
}

// Log is the end of what a process wrote.
type Log struct {
	Process string `json:"process"`
	Tail    string `json:"tail"` // at most 4 KiB
	Cut     bool   `json:"cut"`  // there is more before it
}

// Judged is all cells by one metric.
type Judged struct {
	// Estimates are by place in Document.Cells; null of a cell without runs of its own.
	Estimates []*Estimate `json:"estimates"`
	// Against has the changes from each baseline that is offered, by its place in Document.Cells: by
	// place of the cell; null where there is nothing to compare.
	Against map[int][]*Change `json:"against"`
	// Floor is the relative change below which nothing is believed; null if there is no floor. FloorText
	// says it in a sentence, or why there is none.
	Floor     *float64 `json:"floor"`
	FloorText string   `json:"floor_text"`
}

// Estimate is what the runs of a cell say of its value.
type Estimate struct {
	N      int      `json:"n"`
	Median *float64 `json:"median"`
	// Low and High are the interval of 95 % confidence; null with too few runs for one.
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Spread float64  `json:"spread"` // relative: 0.01 is 1 %
	// Deviation is the standard deviation in the unit of the metric, where no share of the median tells it; else null.
	Deviation *float64 `json:"deviation,omitempty"`
}

// Change is what a cell differs by from a baseline.
type Change struct {
	// Change, Low and High are relative, and null where no percentage tells anything: there is a Difference then.
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"` // null where it is not bounded
	High   *float64 `json:"high"`
	// Difference is the change in the unit of the metric.
	Difference *Difference `json:"difference,omitempty"`
	// P is corrected for all comparisons with this baseline.
	P       *float64      `json:"p"`
	Verdict judge.Verdict `json:"verdict"` // better, worse or cannot tell
	// Needed is how many runs would tell; 0 where it is proven or runs do not help, and above 1,000 where
	// that is not within reach.
	Needed int `json:"needed"`
}

// Difference is a change in the unit of the metric, and its interval of 95 % confidence.
type Difference struct {
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"` // null where it is not bounded
	High   *float64 `json:"high"`
}

// Run is one execution that came to its end.
type Run struct {
	Folder      string              `json:"folder"`
	Cell        int                 `json:"cell"`
	Round       int                 `json:"round"`
	Started     time.Time           `json:"started"`
	Seed        uint64              `json:"seed"`
	Values      map[string]*float64 `json:"values"` // by metric
	Iterations  int                 `json:"iterations"`
	Straggler   *Straggler          `json:"straggler,omitempty"`
	Epochs      []Epoch             `json:"epochs"`
	Warnings    []string            `json:"warnings"`
	Environment int                 `json:"environment"`
	// Detail is the place of its detail, -1 without one.
	Detail int `json:"detail"`
}

// Straggler is the trainer that cost the others of a run most.
type Straggler struct {
	Rank   int     `json:"rank"`
	Share  float64 `json:"share"`   // of the iterations
	CostMS float64 `json:"cost_ms"` // per iteration
	Host   string  `json:"host,omitempty"`
}

// Epoch is what training had led to after an epoch.
type Epoch struct {
	Number  int                 `json:"number"` // from 1 on: some may be left out
	Seconds float64             `json:"seconds"`
	Bytes   float64             `json:"bytes"`
	Values  map[string]*float64 `json:"values"` // held_out_loss, held_out_accuracy, held_out_auc, train_loss
}

// Detail is all that a page shows of one run.
type Detail struct {
	Run     int      `json:"run"`
	Command []string `json:"command"`
	Config  []Value  `json:"config"`
	// Processes say what ran where.
	Processes []Process       `json:"processes"`
	Hosts     *Hosts          `json:"hosts,omitempty"` // nil of a run on one host
	Plugins   []result.Plugin `json:"plugins"`
	Warnings  []string        `json:"warnings"`
	Checks    *result.Checks  `json:"checks,omitempty"`
	// ArrivalOrder is why the loss depends on the order in which gradients arrived, "" if it does not.
	ArrivalOrder string `json:"arrival_order,omitempty"`
	// Lanes are the iterations of each trainer over time.
	Lanes []Lane `json:"lanes"`
	// Quantiles are 201 of the iterations of all trainers, in ms, from the shortest to the longest; empty
	// without iterations.
	Quantiles []float64 `json:"quantiles"`
	// Parts are what an iteration consists of as it was stamped, in their order.
	Parts []Part `json:"parts"`
	// Buckets are where the time of the reductions goes; empty where no hook stamped any.
	Buckets []Bucket `json:"buckets"`
	// Noise is what else took the machine's time.
	Noise []noise.Interval `json:"noise"`
	// Timeline is of the iteration whose time is the median, nil where nothing was stamped.
	Timeline *Timeline `json:"timeline,omitempty"`
}

// Value is a setting and where it came from.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Process is a process of a run.
type Process struct {
	Name    string  `json:"name"`
	Rank    int     `json:"rank"`
	Kind    string  `json:"kind"`
	Key     string  `json:"key"`
	Plugin  string  `json:"plugin"`
	StartMS float64 `json:"start_ms"`
	RSSMiB  float64 `json:"rss_mib"`
	Facts   []Fact  `json:"facts"` // by name
	Where   string  `json:"where,omitempty"`
}

// Hosts are those of a run on several.
type Hosts struct {
	List []Host `json:"list"`
	// ApartMS is how wrong a time may be that was taken by the clocks of two of them.
	ApartMS float64 `json:"apart_ms"`
	// Transports are those of links, and which processes each of them joins; empty where all links have the same.
	Transports []Fact     `json:"transports"`
	Links      []HostLink `json:"links"`
}

// Host is a host, what it has, and how its clock went.
type Host struct {
	Name  string `json:"name"`
	Has   string `json:"has"`
	Clock string `json:"clock"`
}

// HostLink is what the link between two hosts can do, measured by bare sockets.
type HostLink struct {
	From        string  `json:"from"`
	To          string  `json:"to"`
	OutGBps     float64 `json:"out_gb_per_s"`
	BackGBps    float64 `json:"back_gb_per_s"`
	RoundTripUS float64 `json:"round_trip_us"`
}

// Fact is something in two words.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Lane is the iterations of one trainer: of each span of iterations the shortest and the longest.
type Lane struct {
	Rank int    `json:"rank"`
	Name string `json:"name"`
	// Each is how many iterations a span has: 1 where nothing was left out.
	Each int `json:"each"`
	// Iterations is how many there were.
	Iterations int `json:"iterations"`
	// Seconds are where spans begin, from the start of the pass; MinMS and MaxMS are of the same length.
	Seconds []float64 `json:"seconds"`
	MinMS   []float64 `json:"min_ms"`
	MaxMS   []float64 `json:"max_ms"`
}

// Part is one of the parts of an iteration.
type Part struct {
	Name   string  `json:"name"`
	MeanMS float64 `json:"mean_ms"` // per iteration
}

// Bucket is the reductions of a bucket, in means per iteration and trainer.
type Bucket struct {
	Index       int     `json:"index"`
	HookMS      float64 `json:"hook_ms,omitempty"` // 0 where hooks stamped none
	WaitingMS   float64 `json:"waiting_ms"`
	TransferMS  float64 `json:"transfer_ms"`
	ReductionMS float64 `json:"reduction_ms"`
	CodecMS     float64 `json:"codec_ms"`
}

// Timeline is one iteration. Times are in µs from its start.
type Timeline struct {
	Iteration int64   `json:"iteration"`
	Micros    float64 `json:"micros"` // of the whole of it
	Tracks    []Track `json:"tracks"`
	Arrows    []Arrow `json:"arrows"`
}

// Track is one rank.
type Track struct {
	Rank  int            `json:"rank"`
	Name  string         `json:"name"`
	Kind  string         `json:"kind"`
	Lanes []TimelineLane `json:"lanes"`
}

// TimelineLane is spans of one sort, which nest or do not overlap.
type TimelineLane struct {
	Name  string `json:"name"` // compute, communication or work
	Spans []Span `json:"spans"`
}

// Span is something that a rank did or waited for.
type Span struct {
	Name   string  `json:"name"`
	Start  float64 `json:"start"`
	End    float64 `json:"end"`
	Bucket int     `json:"bucket"` // -1 of what is no bucket's
}

// Arrow leads from a moment of one track and lane to one of another.
type Arrow struct {
	FromTrack int     `json:"from_track"`
	FromLane  int     `json:"from_lane"`
	From      float64 `json:"from"`
	ToTrack   int     `json:"to_track"`
	ToLane    int     `json:"to_lane"`
	To        float64 `json:"to"`
	Bucket    int     `json:"bucket"`
}

// Environment is what a run ran in.
type Environment struct {
	Facts []Fact `json:"facts"`
	// Differences are those to the first environment, a sentence each; empty of the first.
	Differences []string `json:"differences"`
	// Runs is how many ran in it.
	Runs int `json:"runs"`
}

// Comm is what psbench comm measured.
type Comm struct {
	Rows []CommRow `json:"rows"`
	// Limits are what the machine can do, measured in the same run.
	Limits []micro.Limit `json:"limits"`
}

// CommRow is one operation on one transport at one size.
type CommRow struct {
	Cell      int     `json:"cell"` // its place in Document.Cells
	Operation string  `json:"operation"`
	Server    string  `json:"server"`
	Hook      string  `json:"hook"`
	Transport string  `json:"transport"`
	Trainers  int     `json:"trainers"`
	Servers   int     `json:"servers"`
	Mode      string  `json:"mode"`
	Place     string  `json:"place"`
	Sparse    bool    `json:"sparse"`
	Bytes     int     `json:"bytes"` // of the bucket; 0 of a barrier
	Rounds    int     `json:"rounds"`
	P50US     float64 `json:"p50_us"`
	P95US     float64 `json:"p95_us"`
	MinUS     float64 `json:"min_us"`
	AlgbwGBps float64 `json:"algbw_gb_per_s"`
	BusbwGBps float64 `json:"busbw_gb_per_s"`
	Share     float64 `json:"share"` // of the limit that ShareOf names; 0 without one
	ShareOf   string  `json:"share_of"`
	Verified  string  `json:"verified"`
	Void      string  `json:"void"` // what voids the row, "" if nothing does
}

// Live is how far runs are that go on.
type Live struct {
	Done        int      `json:"done"`
	Failed      int      `json:"failed"`
	Left        int      `json:"left"`
	Seconds     float64  `json:"seconds"`      // since it began
	SecondsLeft *float64 `json:"seconds_left"` // null while nothing can be told
	// Running is nil between runs, and at the end.
	Running *Running `json:"running"`
	// Ended says how it ended, in a sentence; "" as long as it goes on.
	Ended string `json:"ended"`
}

// Running is the run that goes on.
type Running struct {
	Cell  int    `json:"cell"` // -1 if it is of none
	Name  string `json:"name"`
	Round int    `json:"round"`
	Phase string `json:"phase"` // starting, warm-up, measured pass, ...
	// Iterations of the first trainer that are done, and of how many; 0 where that is not known.
	Iterations int `json:"iterations"`
	Of         int `json:"of"`
	// Rate is in samples per second, 0 as long as it is not known.
	Rate float64  `json:"rate"`
	Loss *float64 `json:"loss"`
}
