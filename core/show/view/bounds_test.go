package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/model"
)

// With very many failures, the first failures of each cell keep their logs. Each log starts at the start of a line.
func TestLogsAreBounded(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "trainer0.log"), []byte(strings.Repeat("a line\r\n", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := &model.Study{Name: "failed"}
	const cells, runs = 20, 10
	for i := range cells {
		c := &model.Cell{ID: fmt.Sprint(i), Name: fmt.Sprint(i)}
		for k := range runs {
			c.Failed = append(c.Failed, model.Failure{Folder: filepath.Dir(logs), Round: k, Reason: "it fell"})
		}
		s.Cells = append(s.Cells, c)
	}
	d, err := Of(s, fixed)
	if err != nil {
		t.Fatal(err)
	}
	bytes, with := 0, 0
	for _, c := range d.Cells {
		if len(c.Failed[0].Logs) != 1 || c.State != Failed || c.Reason != "it fell" {
			t.Fatalf("%+v", c)
		}
		for _, f := range c.Failed {
			for _, l := range f.Logs {
				bytes, with = bytes+len(l.Tail), with+1
				if !l.Cut || strings.Trim(l.Tail, "\n") == "" || !strings.HasPrefix(l.Tail, "a line\n") ||
					strings.Contains(l.Tail, "␍") {
					t.Fatalf("a log is %.40q", l.Tail)
				}
			}
		}
	}
	if want := fmt.Sprintf("%d failed runs without logs", cells*runs-with); bytes > mostLogText+tailBytes ||
		!strings.HasPrefix(d.Sampling, want) {
		t.Errorf("%d bytes of logs; %s, not %s", bytes, d.Sampling, want)
	}
}

// With too many timelines, the timelines of median runs stay.
func TestTimelinesAreBounded(t *testing.T) {
	m := &maker{doc: &Document{}}
	for i := range 12 {
		m.doc.Details = append(m.doc.Details, Detail{Timeline: &Timeline{Arrows: make([]Arrow, allDrawn/7)}})
		if i%2 == 0 {
			m.doc.Cells = append(m.doc.Cells, Cell{Median: i + 1, Worst: i})
		}
	}
	m.bound()
	kept := 0
	for i, d := range m.doc.Details {
		if d.Timeline != nil {
			kept++
		} else if i%2 == 1 {
			t.Errorf("the median run %d has no timeline", i)
		}
	}
	if want := "5 runs without a timeline, which psbench trace shows"; kept != 7 || m.doc.Sampling != want {
		t.Errorf("%d timelines; %s", kept, m.doc.Sampling)
	}
}
