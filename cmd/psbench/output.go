package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/psbench/psbench/core/result"
)

// output is standard output. It keeps its first error, so that what did not get out
// cannot pass for success.
type output struct {
	w   io.Writer
	err error
}

// outputError is a failure to write standard output.
type outputError struct{ error }

func (e outputError) Unwrap() error { return e.error }

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		o.err = outputError{fmt.Errorf("standard output cannot be written: %w", err)}
	}
	return n, o.err
}

// announce leaves r, the result of a run that begins or that measured nothing, where --json
// says.
func announce(path string, r any) error {
	if path == "" {
		return nil
	}
	if err := result.Announce(path, r); err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return nil
}

// save leaves r where --json says.
func save(ctx context.Context, path string, r any) error {
	if path == "" {
		return nil
	}
	if !result.Direct(path) { // a disk may take long for all that it holds back, but does not stop
		defer bounded(ctx)()
	}
	return result.Write(path, r, func() { headway(ctx) })
}
