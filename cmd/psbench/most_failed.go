package main

import (
	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/study"
)

// mostFailedFlag is the flag of what says which cells win.
const mostFailedFlag = "most-failed"

// mostFailed is the flag that says of how many failed runs a cell cannot win.
type mostFailed struct{ percentage }

// add gives a command the flag.
func (m *mostFailed) add(cmd *cobra.Command) {
	m.percentage = percentage{share: study.DefaultMostFailed, part: true}
	cmd.Flags().Var(&m.percentage, mostFailedFlag, "`PERCENT` of its runs that may have failed of a cell that can win")
}

// loader loads studies that are judged by it.
func (m *mostFailed) loader() *study.Loader { return &study.Loader{MostFailed: &m.share} }
