// Package view is what a page shows of runs: one document, made of a study and of the folders of its runs. A page
// draws only what the document contains. All verdicts come from core/study/model, so the browser never computes a
// verdict.
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

// Document is the content of a page. Lists are never null. A value that is not finite becomes null.
type Document struct {
	Schema string `json:"schema"`
	// Name is the name of the folder, or states how many runs there are.
	Name string `json:"name"`
	// Title is Name. If Name is a path, Title is its last part.
	Title string `json:"title"`
	// Heading is a sentence with the numbers of cells and runs.
	Heading string `json:"heading"`
	// Machine describes the machine in a sentence, as psbench show does.
	Machine string    `json:"machine"`
	Made    time.Time `json:"made"`
	Psbench string    `json:"psbench"` // version and commit of the psbench that made the page
	// Sentences state the main results.
	Sentences []Sentence `json:"sentences"`
	// Warnings are warnings about the whole study, one sentence each.
	Warnings []string `json:"warnings"`
	// Remarks are the lines below the table of psbench show: floor, early, p99, checked, failed, skipped. The floor
	// belongs to Metric. Judged has the floors of all metrics.
	Remarks []Sentence `json:"remarks"`

	// Metric is the name of the metric by which the page first compares cells.
	Metric string `json:"metric"`
	// Metrics are the metrics that at least one run has.
	Metrics []Metric `json:"metrics"`
	Axes    []Axis   `json:"axes"`
	// Within is the name of an axis along which cells are not compared; "" if there is none. Each cell is compared with
	// the variant of the baseline that has the same value on this axis.
	Within string `json:"within"`
	// Cells are in the order of the study. The A/A cell comes last.
	Cells []Cell `json:"cells"`
	// Baseline is the index in Cells of the first baseline; -1 without cells.
	Baseline int `json:"baseline"`
	// Judged compares all cells with each baseline that the page offers, by metric.
	Judged map[string]Judged `json:"judged"`
	Runs   []Run             `json:"runs"`
	// Details describe the median run and the worst run of each cell.
	Details []Detail `json:"details"`
	// Environments are the distinct environments of the runs. The first one belongs to the first run.
	Environments []Environment `json:"environments"`
	// Sampling states which data was left out of the document, and how; "" if nothing was.
	Sampling string `json:"sampling"`
	// Comm is nil unless the study comes from psbench comm.
	Comm *Comm `json:"comm,omitempty"`
	// Live is nil if all runs have ended.
	Live *Live `json:"live,omitempty"`
}

// OneRun reports whether the page shows a single run. Its only cell is then not worth mentioning.
func (d *Document) OneRun() bool {
	return len(d.Cells) == 1 && len(d.Cells[0].Runs)+len(d.Cells[0].Failed)+d.Cells[0].Waiting == 1
}

// Sentence is a result or a remark, with its label.
type Sentence struct {
	Label  string `json:"label"`
	Text   string `json:"text"`
	Detail bool   `json:"detail,omitempty"` // shown only on demand
}

// Metric describes a number that runs have.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"` // higher or lower
	Means  string `json:"means"`
}

// Axis is a value that differs between cells, or several values that change together.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// These are the states of cells.
const (
	Done    = "done"
	Partial = "partial" // some runs failed or are waiting
	Failed  = "failed"  // all runs failed
	Waiting = "waiting" // no run has ended
	Skipped = "skipped"
	Same    = "same" // the runs belong to another cell
)

// Cell is one point of the matrix.
type Cell struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Again marks the A/A cell.
	Again  bool     `json:"again"`
	Values []string `json:"values"` // on the axes, in their order
	State  string   `json:"state"`
	Reason string   `json:"reason"` // why the cell was skipped, or the message of its first failure
	Same   int      `json:"same"`   // index of the cell that has its runs; -1 if it has its own runs
	// Runs are indices in Document.Runs.
	Runs    []int     `json:"runs"`
	Waiting int       `json:"waiting"` // number of runs still to come
	Failed  []Failure `json:"failed"`
	// Warnings are about the cell's runs and results, in full. Shorts are the same warnings in one or two words each.
	Warnings []string `json:"warnings"`
	Shorts   []string `json:"shorts"`
	// Environment is the index of the environment of the first run; -1 without runs.
	Environment int `json:"environment"`
	// Median and Worst are indices in Document.Details: the median run and the worst run by the document's metric.
	// Without runs, Median and Worst are -1. For a single run, Median and Worst are equal.
	Median int `json:"median"`
	Worst  int `json:"worst"`
}

// Failure is a run that failed.
type Failure struct {
	Folder string `json:"folder"`
	Round  int    `json:"round"`
	Reason string `json:"reason"`
	Logs   []Log  `json:"logs"`
}

// Log is the end of a process's output.
type Log struct {
	Process string `json:"process"`
	Tail    string `json:"tail"` // at most 4 KiB
	Cut     bool   `json:"cut"`  // Tail omits the beginning
}

// Judged compares all cells by one metric.
type Judged struct {
	// Estimates are by index in Document.Cells. Cells without their own runs have null.
	Estimates []*Estimate `json:"estimates"`
	// Against has the changes from each offered baseline. The key is the baseline's index in Document.Cells. The list
	// has a change for each cell, or null if there is nothing to compare.
	Against map[int][]*Change `json:"against"`
	// Floor is the smallest relative change that counts as real; null if there is no floor. FloorText states the floor
	// in a sentence, or why there is none.
	Floor     *float64 `json:"floor"`
	FloorText string   `json:"floor_text"`
}

// Estimate is the value of a cell as estimated from its runs.
type Estimate struct {
	N      int      `json:"n"`
	Median *float64 `json:"median"`
	// Low and High are the bounds of the 95 % confidence interval. With too few runs, Low and High are null.
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Spread float64  `json:"spread"` // relative: 0.01 is 1 %
	// Deviation is the standard deviation in the metric's unit; null unless a share of the median would be meaningless.
	Deviation *float64 `json:"deviation,omitempty"`
}

// Change is the difference between a cell and a baseline.
type Change struct {
	// Change, Low and High are relative. If percentages are meaningless, all three are null, and Difference is set.
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"` // null if unbounded
	High   *float64 `json:"high"`
	// Difference is the change in the unit of the metric.
	Difference *Difference `json:"difference,omitempty"`
	// P is the p-value, corrected for all comparisons with this baseline.
	P       *float64      `json:"p"`
	Verdict judge.Verdict `json:"verdict"` // better, worse or cannot tell
	// Needed is the number of runs that would give a verdict; 0 if the difference is proven or more runs do not help.
	// Above 1,000 it is out of reach.
	Needed int `json:"needed"`
}

// Difference is a change in the metric's unit, with its 95 % confidence interval.
type Difference struct {
	Change *float64 `json:"change"`
	Low    *float64 `json:"low"` // null if unbounded
	High   *float64 `json:"high"`
}

// Run is one completed run.
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
	// Detail is the index of the run's detail; -1 without one.
	Detail int `json:"detail"`
}

// Straggler is the trainer that cost the other trainers of a run the most time.
type Straggler struct {
	Rank   int     `json:"rank"`
	Share  float64 `json:"share"`   // share of the iterations
	CostMS float64 `json:"cost_ms"` // per iteration
	Host   string  `json:"host,omitempty"`
}

// Epoch is the state of training after an epoch.
type Epoch struct {
	Number  int                 `json:"number"` // counted from 1; some epochs may be left out
	Seconds float64             `json:"seconds"`
	Bytes   float64             `json:"bytes"`
	Values  map[string]*float64 `json:"values"` // held_out_loss, held_out_accuracy, held_out_auc, train_loss
}

// Detail is everything that a page shows about one run.
type Detail struct {
	Run     int      `json:"run"`
	Command []string `json:"command"`
	Config  []Value  `json:"config"`
	// Processes describe the processes and where they ran.
	Processes []Process       `json:"processes"`
	Hosts     *Hosts          `json:"hosts,omitempty"` // nil if the run used one host
	Plugins   []result.Plugin `json:"plugins"`
	Warnings  []string        `json:"warnings"`
	Checks    *result.Checks  `json:"checks,omitempty"`
	// ArrivalOrder is why the loss depends on the order in which gradients arrived; "" if it does not.
	ArrivalOrder string `json:"arrival_order,omitempty"`
	// Lanes are the iterations of each trainer over time.
	Lanes []Lane `json:"lanes"`
	// Quantiles are 201 quantiles of the iteration times of all trainers, in ms, from shortest to longest. Without
	// iterations, Quantiles is empty.
	Quantiles []float64 `json:"quantiles"`
	// Parts are the parts of an iteration in their order.
	Parts []Part `json:"parts"`
	// Buckets split the time of the reductions into parts. If no hook recorded any times, Buckets is empty.
	Buckets []Bucket `json:"buckets"`
	// Noise is the CPU time that other processes used.
	Noise []noise.Interval `json:"noise"`
	// Timeline shows the iteration with the median time; nil if no times were recorded.
	Timeline *Timeline `json:"timeline,omitempty"`
}

// Value is a setting with its origin.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Process describes a process of a run.
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

// Hosts describes the hosts of a run that used several.
type Hosts struct {
	List []Host `json:"list"`
	// ApartMS is the error bound of times that combine the clocks of two hosts.
	ApartMS float64 `json:"apart_ms"`
	// Transports names each transport of the links with the processes that it joins; empty if all links use the same
	// transport.
	Transports []Fact     `json:"transports"`
	Links      []HostLink `json:"links"`
}

// Host describes a host, its resources and the drift of its clock.
type Host struct {
	Name  string `json:"name"`
	Has   string `json:"has"`
	Clock string `json:"clock"`
}

// HostLink is the speed of the link between two hosts, measured with bare sockets.
type HostLink struct {
	From        string  `json:"from"`
	To          string  `json:"to"`
	OutGBps     float64 `json:"out_gb_per_s"`
	BackGBps    float64 `json:"back_gb_per_s"`
	RoundTripUS float64 `json:"round_trip_us"`
}

// Fact is a name with a value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Lane holds the iterations of one trainer. For each span of iterations it has the shortest and the longest time.
type Lane struct {
	Rank int    `json:"rank"`
	Name string `json:"name"`
	// Each is the number of iterations in a span; 1 if nothing was left out.
	Each int `json:"each"`
	// Iterations is the number of all iterations.
	Iterations int `json:"iterations"`
	// Seconds are the starts of the spans, relative to the start of the pass. MinMS and MaxMS have the same length.
	Seconds []float64 `json:"seconds"`
	MinMS   []float64 `json:"min_ms"`
	MaxMS   []float64 `json:"max_ms"`
}

// Part is one of the parts of an iteration.
type Part struct {
	Name   string  `json:"name"`
	MeanMS float64 `json:"mean_ms"` // per iteration
}

// Bucket is the time of a bucket's reductions, as means per iteration and trainer.
type Bucket struct {
	Index       int     `json:"index"`
	HookMS      float64 `json:"hook_ms,omitempty"` // 0 if no hook recorded times
	WaitingMS   float64 `json:"waiting_ms"`
	TransferMS  float64 `json:"transfer_ms"`
	ReductionMS float64 `json:"reduction_ms"`
	CodecMS     float64 `json:"codec_ms"`
}

// Timeline is one iteration. All times are in µs from its start.
type Timeline struct {
	Iteration int64   `json:"iteration"`
	Micros    float64 `json:"micros"` // of the whole iteration
	Tracks    []Track `json:"tracks"`
	Arrows    []Arrow `json:"arrows"`
}

// Track shows one rank.
type Track struct {
	Rank  int            `json:"rank"`
	Name  string         `json:"name"`
	Kind  string         `json:"kind"`
	Lanes []TimelineLane `json:"lanes"`
}

// TimelineLane holds spans of one kind, which nest or do not overlap.
type TimelineLane struct {
	Name  string `json:"name"` // compute, communication or work
	Spans []Span `json:"spans"`
}

// Span is a period in which a rank worked or waited.
type Span struct {
	Name   string  `json:"name"`
	Start  float64 `json:"start"`
	End    float64 `json:"end"`
	Bucket int     `json:"bucket"` // -1 if the span belongs to no bucket
}

// Arrow leads from a time on one track and lane to a time on another.
type Arrow struct {
	FromTrack int     `json:"from_track"`
	FromLane  int     `json:"from_lane"`
	From      float64 `json:"from"`
	ToTrack   int     `json:"to_track"`
	ToLane    int     `json:"to_lane"`
	To        float64 `json:"to"`
	Bucket    int     `json:"bucket"`
}

// Environment describes the machine and the software of runs.
type Environment struct {
	Facts []Fact `json:"facts"`
	// Differences are the differences from the first environment, one sentence each. The first environment has no
	// differences.
	Differences []string `json:"differences"`
	// Runs is the number of runs in this environment.
	Runs int `json:"runs"`
}

// Comm is the result of psbench comm.
type Comm struct {
	Rows []CommRow `json:"rows"`
	// Limits are the limits of the machine, measured in the same run.
	Limits []micro.Limit `json:"limits"`
}

// CommRow is one operation on one transport at one size.
type CommRow struct {
	Cell      int     `json:"cell"` // index in Document.Cells
	Operation string  `json:"operation"`
	Server    string  `json:"server"`
	Hook      string  `json:"hook"`
	Transport string  `json:"transport"`
	Trainers  int     `json:"trainers"`
	Servers   int     `json:"servers"`
	Mode      string  `json:"mode"`
	Place     string  `json:"place"`
	Sparse    bool    `json:"sparse"`
	DType     string  `json:"dtype"`
	Bytes     int     `json:"bytes"` // of the bucket; 0 for a barrier
	Rounds    int     `json:"rounds"`
	P50US     float64 `json:"p50_us"`
	P95US     float64 `json:"p95_us"`
	MinUS     float64 `json:"min_us"`
	AlgbwGBps float64 `json:"algbw_gb_per_s"`
	BusbwGBps float64 `json:"busbw_gb_per_s"`
	Share     float64 `json:"share"` // share of the limit that ShareOf names; 0 without one
	ShareOf   string  `json:"share_of"`
	Verified  string  `json:"verified"`
	Void      string  `json:"void"` // why the row is void; "" if it is valid
}

// Live is the progress of current runs.
type Live struct {
	Done        int      `json:"done"`
	Failed      int      `json:"failed"`
	Left        int      `json:"left"`
	Seconds     float64  `json:"seconds"`      // since the command began
	SecondsLeft *float64 `json:"seconds_left"` // null while unknown
	// Running is the current run; nil between runs and at the end.
	Running *Running `json:"running"`
	// Ended states in a sentence how the runs ended; "" while they go on.
	Ended string `json:"ended"`
}

// Running is the current run.
type Running struct {
	Cell  int    `json:"cell"` // -1 if it belongs to no cell
	Name  string `json:"name"`
	Round int    `json:"round"`
	Phase string `json:"phase"` // starting, warm-up, measured pass, ...
	// Iterations counts the first trainer's finished iterations, and Of is their planned number. Unknown numbers are 0.
	Iterations int `json:"iterations"`
	Of         int `json:"of"`
	// Rate is in samples per second; 0 while unknown.
	Rate float64  `json:"rate"`
	Loss *float64 `json:"loss"`
}
