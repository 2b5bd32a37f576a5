package main

import (
	"context"
	"fmt"

	"github.com/psbench/psbench/core/record/folder"
)

// outFolder is the folder that --out names, or nil without one.
type outFolder struct {
	*folder.Folder
	ctx context.Context
}

// begin makes the folder that --out names.
func begin(ctx context.Context, dir string) (*outFolder, error) {
	if dir == "" {
		return nil, nil
	}
	f, err := folder.Create(dir)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	f.Moved = func() { headway(ctx) }
	return &outFolder{f, ctx}, nil
}

// logs is where what processes print goes.
func (o *outFolder) logs() string {
	if o == nil {
		return ""
	}
	return o.Logs()
}

// fail notes why nothing was measured. That is what the user has to know, not what may go wrong here.
func (o *outFolder) fail(err error) {
	if o != nil {
		_ = o.Fail(err.Error())
	}
}

// leave leaves r, or the reason why it cannot.
func (o *outFolder) leave(r folder.Result) error {
	if o == nil {
		return nil
	}
	defer bounded(o.ctx)() // a disk may take long for all that it holds back, but does not stop
	err := o.Write(r)
	if err != nil {
		o.fail(err)
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
