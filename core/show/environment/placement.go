package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Placement writes where each process runs, then the resources of each host.
func Placement(w *screen.Page, l *placement.Layout) error {
	onCUDA := slices.ContainsFunc(l.Processes, func(p placement.Placed) bool { return p.Device != nil })
	pinned := slices.ContainsFunc(l.Processes, func(p placement.Placed) bool { return p.Node != nil })
	columns := []screen.Column{screen.Left("process"), screen.Left("host")}
	if onCUDA {
		columns = append(columns, screen.Left("device"))
	}
	if pinned {
		columns = append(columns, screen.Right("NUMA node").Yields(1), screen.Left("CPUs"))
	}
	var rows [][]string
	for _, p := range l.Processes {
		row := []string{p.Name, l.Hosts[p.Host].Name}
		if onCUDA {
			row = append(row, or(p.Device, "cuda:%d"))
		}
		if pinned {
			row = append(row, or(p.Node, "%d"), p.CPUs.String())
		}
		rows = append(rows, row)
	}
	w.Line(2, fmt.Sprintf("placement: servers %s, affinity %s", l.Policy, l.Affinity))
	if err := w.Grid(columns, rows, false); err != nil {
		return err
	}
	for _, h := range l.Hosts {
		w.Line(2, quote.Word(h.Name)+": "+h.Has())
	}
	return nil
}

// Hosts lists the processes of each host, e.g. "node1 trainer0, server2; node2 trainer1".
func Hosts(l *placement.Layout) string {
	var told []string
	for i, h := range l.Hosts {
		var names []string
		for _, p := range l.Processes {
			if p.Host == i {
				names = append(names, p.Name)
			}
		}
		told = append(told, quote.Word(h.Name)+" "+cmp.Or(strings.Join(names, ", "), "nobody"))
	}
	return strings.Join(told, "; ")
}

// or formats n with form. It returns "-" for nil.
func or(n *int, form string) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf(form, *n)
}
