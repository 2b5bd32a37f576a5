package main

import (
	"context"
	"errors"

	"github.com/psbench/psbench/core/sweep"
)

// conductSweep runs a plan in the folder of the sweep.
func (a *app) conductSweep(context.Context, string, *sweep.Plan, []byte, sweepOptions) error {
	return errors.New("this psbench plans sweeps, and runs none yet: give --dry-run")
}
