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

// output is standard output. It keeps its first write error, so psbench cannot report success after a lost write.
type output struct {
	w   io.Writer
	err error
}

// outputError is a write error of standard output.
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

// terminal returns the terminal behind w, or nil if there is none or if that terminal cannot rewrite a line. The
// terminal has no styles if NO_COLOR has any value (https://no-color.org).
func (a *app) terminal(w io.Writer) *progress.Terminal {
	if !isTerminal(w) || a.variable("TERM") == "dumb" {
		return nil
	}
	return &progress.Terminal{Width: func() int { return widthOf(w) }, Height: func() int { return heightOf(w) },
		Styled: a.variable("NO_COLOR") == ""}
}

// variable returns the value of an environment variable, or "".
func (a *app) variable(name string) (value string) {
	for _, v := range a.environ {
		if key, text, _ := strings.Cut(v, "="); key == name {
			value = text
		}
	}
	return value
}

// widthOf returns the number of columns of the terminal behind w, or 0 if w is no terminal.
func widthOf(w io.Writer) int {
	width, _ := sizeOf(w)
	return width
}

// heightOf returns the number of lines of the terminal behind w, or 0 if w is no terminal.
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

// print writes a page to standard output, as wide as the terminal, or nothing if fill returns an error.
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

// toStdout is the value of --json that sends the result, and nothing else, to standard output.
const toStdout = "-"

// tables returns the writer for human-readable output. If the result goes to standard output, tables returns standard
// error.
func (a *app) tables(opts option.Options) io.Writer {
	if opts.JSON == toStdout {
		return a.stderr
	}
	return a.stdout
}

// announce writes a preliminary result to --json: for a run that begins, or for a run that measured nothing.
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
	// Ignore these errors: the user must see the error of the run.
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
	case !result.Direct(path): // flushing a disk cache may take long, but makes progress
		defer interrupt.Bounded(ctx)()
	}
	return result.Write(path, r, moved)
}

// nameAfter derives a file name in the current folder from a path.
func nameAfter(path, fallback, ending string) string {
	at, err := filepath.Abs(path)
	if path == "-" || err != nil || filepath.Base(at) == "/" {
		return fallback + ending
	}
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(at), ".gz"), ".json") + ending
}

// checkOutput refuses an empty --output, e.g. from an unset variable of a script. Otherwise an empty value would
// count as not given.
func checkOutput(flags *pflag.FlagSet) error {
	if f := flags.Lookup("output"); f.Changed && f.Value.String() == "" {
		return usagef("--output is empty but must name a file, or be - for standard output")
	}
	return nil
}

// outFolder is the folder of --out; nil without that flag.
type outFolder struct {
	*folder.Folder
	ctx context.Context
}

// begin creates the folder of --out.
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

// fail records why nothing was measured. It ignores its own errors, because the user must see err.
func (o *outFolder) fail(err error) {
	if o != nil {
		_ = o.Fail(err.Error())
	}
}

// leave writes r to the folder. If the write fails, it records the reason there.
func (o *outFolder) leave(r folder.Result) error {
	if o == nil {
		return nil
	}
	defer interrupt.Bounded(o.ctx)() // flushing a disk cache may take long, but makes progress
	err := o.Write(r)
	if err != nil {
		o.fail(err)
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
