package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
)

// Each row of psbench comm is a cell, and each result adds one run to it. A void row counts as a failed run.
func TestComm(t *testing.T) {
	row := func(transport, mismatch string, us float64) *micro.Row {
		return &micro.Row{
			Operation: "barrier", Transport: transport, Trainers: 2, Mode: micro.Fresh, Place: micro.InPlace,
			Verified: micro.NoRound, Mismatch: mismatch, LatenciesUS: [][]float64{{us, us}}, P50US: us,
		}
	}
	var paths []string
	for _, us := range []float64{10, 12} {
		r := &micro.Result{Schema: micro.Schema, Complete: true, Limits: []micro.Limit{}, Command: []string{"psbench"}}
		r.Rows = []*micro.Row{row("shm", "", us), row("tcp", map[bool]string{true: "rank 1 is wrong"}[us == 12], 3*us)}
		paths = append(paths, modeltest.Wrote(t, r))
	}
	s, err := model.Load(paths)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Cells {
		for _, v := range c.Of(model.CommTime) {
			got = append(got, fmt.Sprintf("%s %.2f", c.Name, v))
		}
		for _, f := range c.Failed {
			got = append(got, c.Name+" "+f.Reason)
		}
	}
	want := []string{"transport=shm 10.00", "transport=shm 12.00", "transport=tcp 30.00",
		"transport=tcp rank 1 is wrong"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if m, err := s.MetricOr(""); err != nil || m.Name != model.CommTime {
		t.Errorf("they are compared by %v, %v", m, err)
	}
	if m, err := model.MetricFor("", s, s); err != nil || m.Name != model.CommTime {
		t.Errorf("two of them are compared by %v, %v", m, err)
	}
	run := model.Measured(1, nil, []int64{1})
	run.Schema = result.Schema
	if _, err := model.Load(slices.Concat(paths, []string{modeltest.Wrote(t, run)})); err == nil ||
		!strings.Contains(err.Error(), "have nothing in common") {
		t.Errorf("beside a run: %v", err)
	}
	empty := &micro.Result{Schema: micro.Schema, Error: "interrupted", Limits: []micro.Limit{}, Rows: []*micro.Row{},
		Command: []string{"psbench"}}
	if _, err := model.Load([]string{modeltest.Wrote(t, empty)}); err == nil ||
		!strings.Contains(err.Error(), "has no rows: interrupted") {
		t.Errorf("without rows: %v", err)
	}
}
