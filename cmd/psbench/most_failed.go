package main

import (
	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
)

// mostFailedFlag is the flag of the commands that say which cells win.
const mostFailedFlag = "most-failed"

// mostFailed is the share of failed runs above which a cell cannot win.
type mostFailed struct{ percentage }

// add gives a command the flag.
func (m *mostFailed) add(cmd *cobra.Command) {
	m.percentage = percentage{share: verdict.DefaultMostFailed, part: true}
	cmd.Flags().Var(&m.percentage, mostFailedFlag, "a cell cannot win if more than this `PERCENT` of its runs failed")
}

// loader loads studies that are judged by it.
func (m *mostFailed) loader() *model.Loader { return &model.Loader{MostFailed: &m.share} }
