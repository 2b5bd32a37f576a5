package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/screen"
)

// output is standard output. It keeps its first error, so that psbench cannot end with success after a lost write.
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

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) // #nosec G115 -- a file descriptor
}

// terminal returns the terminal that w writes to, nil if there is none or it cannot rewrite a line. It has no styles if
// NO_COLOR is set to any value (https://no-color.org).
func (a *app) terminal(w io.Writer) *progress.Terminal {
	if !isTerminal(w) || a.variable("TERM") == "dumb" {
		return nil
	}
	return &progress.Terminal{Width: func() int { return widthOf(w) }, Height: func() int { return heightOf(w) },
		Styled: a.variable("NO_COLOR") == ""}
}

// variable returns a variable of the environment, or "".
func (a *app) variable(name string) (value string) {
	for _, v := range a.environ {
		if key, text, _ := strings.Cut(v, "="); key == name {
			value = text
		}
	}
	return value
}

// widthOf returns the columns of the terminal that w writes to, 0 if it is no terminal.
func widthOf(w io.Writer) int {
	width, _ := sizeOf(w)
	return width
}

// heightOf returns the lines of that terminal.
func heightOf(w io.Writer) int {
	_, height := sizeOf(w)
	return height
}

func sizeOf(w io.Writer) (width, height int) {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd())) // #nosec G115 -- a file descriptor
	if err != nil {
		return 0, 0
	}
	return width, height
}

// print writes a page to standard output, as wide as its terminal. It writes nothing if fill fails.
func (a *app) print(fill func(*screen.Page) error) error {
	page := &screen.Page{Width: widthOf(a.stdout)}
	if err := fill(page); err != nil {
		return err
	}
	_, err := page.WriteTo(a.stdout)
	return err
}

// encodeJSON writes v as indented JSON.
func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// toStdout is the value of --json that puts the result, and nothing else, on standard output.
const toStdout = "-"

// tables returns the writer for people: standard output, or standard error if the result goes to standard output.
func (a *app) tables(opts option.Options) io.Writer {
	if opts.JSON == toStdout {
		return a.stderr
	}
	return a.stdout
}

// announce writes r to --json. It is the result of a run that begins, or that measured nothing.
func announce(path string, r any) error {
	if path == "" || path == toStdout {
		return nil
	}
	if err := result.Announce(path, r); err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return nil
}

// leaveFailure writes r, the result of a run that measured nothing, to --json.
func (a *app) leaveFailure(ctx context.Context, path string, r any) {
	// Drop these errors: the user has to know the error of the run.
	if path == toStdout {
		_ = a.save(ctx, path, r)
	} else {
		_ = announce(path, r)
	}
}

// save writes r to --json.
func (a *app) save(ctx context.Context, path string, r any) error {
	moved := func() { interrupt.Headway(ctx) }
	switch {
	case path == "":
		return nil
	case path == toStdout:
		return result.WriteTo(a.stdout, r, moved)
	case !result.Direct(path): // a disk may take long to write its cache, but makes progress
		defer interrupt.Bounded(ctx)()
	}
	return result.Write(path, r, moved)
}

// nameAfter names a file in the current folder after the path that it is made of.
func nameAfter(path, fallback, ending string) string {
	at, err := filepath.Abs(path)
	if path == "-" || err != nil || filepath.Base(at) == "/" {
		return fallback + ending
	}
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(at), ".gz"), ".json") + ending
}

// checkOutput refuses an empty --output, as from an unset variable of a script. It would count as not given.
func checkOutput(flags *pflag.FlagSet) error {
	if f := flags.Lookup("output"); f.Changed && f.Value.String() == "" {
		return usagef("--output is empty but must name a file, or be - for standard output")
	}
	return nil
}

// outFolder is the folder of --out, nil without that flag.
type outFolder struct {
	*folder.Folder
	ctx context.Context
}

// begin makes the folder of --out.
func begin(ctx context.Context, dir string) (*outFolder, error) {
	if dir == "" {
		return nil, nil
	}
	f, err := folder.Create(dir)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	f.Moved = func() { interrupt.Headway(ctx) }
	return &outFolder{f, ctx}, nil
}

// logs returns the folder for the output of processes.
func (o *outFolder) logs() string {
	if o == nil {
		return ""
	}
	return o.Logs()
}

// fail notes why nothing was measured. It drops its own errors: the user has to know err.
func (o *outFolder) fail(err error) {
	if o != nil {
		_ = o.Fail(err.Error())
	}
}

// leave writes r, or the reason why it cannot.
func (o *outFolder) leave(r folder.Result) error {
	if o == nil {
		return nil
	}
	defer interrupt.Bounded(o.ctx)() // a disk may take long to write its cache, but makes progress
	err := o.Write(r)
	if err != nil {
		o.fail(err)
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
