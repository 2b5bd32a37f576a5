package view

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/core/study/words"
)

// Options choose the initial view of a study. The zero value is the default.
type Options struct {
	// Metric is the metric that compares cells; "" means the study's metric.
	Metric string
	// Target is a value to reach, e.g. "auc=0.80"; "" means none.
	Target string
	// Made is the time at which the document is made. Psbench is the program that makes the document. Zero values mean
	// now and this program.
	Made    time.Time
	Psbench string
}

// Of makes the document of a study. It also reads the folders of runs with details, at most two per cell, and the
// logs of failed runs. An unreadable folder becomes a warning.
func Of(s *model.Study, o Options) (*Document, error) { return newMaker(s, o).document() }

// maker makes one document.
type maker struct {
	study   *model.Study
	options Options
	metric  model.Metric
	doc     *Document
	cells   []*model.Cell // same order as doc.Cells
	places  map[*model.Run]int
	// before has the details that an earlier document read. The map details has the details of this document.
	before, details map[*model.Run]*Detail
	which           string // describes the runs that have details
}

func newMaker(s *model.Study, o Options) *maker {
	return &maker{study: s, options: o, cells: s.All(), places: map[*model.Run]int{}, details: map[*model.Run]*Detail{}}
}

func (m *maker) document() (*Document, error) {
	metric, err := m.study.MetricOr(m.options.Metric)
	if err != nil {
		return nil, err
	}
	answer, err := words.Sentences(m.study, metric, m.options.Target)
	if err != nil {
		return nil, err
	}
	m.metric = metric
	m.doc = &Document{
		Schema: Schema, Name: m.study.Name, Title: cmp.Or(m.study.Title, m.study.Name),
		Heading: words.Heading(m.study, metric), Machine: words.Machine(m.study),
		Made: m.options.Made, Psbench: m.options.Psbench, Metric: metric.Name, Baseline: -1, Within: m.study.Within,
		Warnings: words.Warnings(m.study),
	}
	if m.doc.Made.IsZero() {
		m.doc.Made = time.Now().Round(0)
	}
	if m.doc.Psbench == "" {
		m.doc.Psbench = result.Version() + " " + result.Commit()
	}
	m.say(answer)
	for _, a := range m.study.Axes {
		m.doc.Axes = append(m.doc.Axes, Axis(a))
	}
	m.addRuns()
	m.addMetrics()
	m.addCells()
	m.judge()
	if err := m.addComm(); err != nil {
		return nil, err
	}
	m.addLogs()
	m.addDetails()
	m.bound()
	return tidy(m.doc), nil
}

// say adds the main results, and the remarks that psbench show prints.
func (m *maker) say(answer []words.Sentence) {
	for _, a := range answer {
		m.doc.Sentences = append(m.doc.Sentences, Sentence(a))
	}
	if len(m.study.Cells) == 0 {
		return
	}
	m.doc.Baseline = m.study.Baseline
	for _, r := range words.Remarks(m.study, verdict.TableOf(m.study, m.metric)) {
		m.doc.Remarks = append(m.doc.Remarks, Sentence(r))
	}
}

// addMetrics adds the metrics that runs have. The document's metric is always included.
func (m *maker) addMetrics() {
	have := map[string]bool{m.metric.Name: true}
	for _, c := range m.cells {
		for _, r := range c.Runs {
			for name := range r.Values {
				have[name] = true
			}
		}
	}
	for _, metric := range model.Metrics {
		if have[metric.Name] {
			m.doc.Metrics = append(m.doc.Metrics, Metric{metric.Name, metric.Unit, string(metric.Better), metric.Means})
		}
	}
}

// path returns the path of a run's folder.
func (m *maker) path(folder string) string {
	if m.study.Folder == "" || filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(m.study.Folder, folder)
}

// name returns a run's folder relative to the sweep, or its full path if it lies outside.
func (m *maker) name(folder string) string {
	if m.study.Folder == "" {
		return folder
	}
	if within, err := filepath.Rel(m.study.Folder, folder); err == nil && filepath.IsLocal(within) {
		return within
	}
	return folder
}
