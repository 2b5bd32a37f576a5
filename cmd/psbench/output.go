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

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) // #nosec G115 -- a file descriptor
}

// terminal is the terminal that w writes to and that can show a line anew, or nil. Users who
// set NO_COLOR, to whatever, get no styles (https://no-color.org).
func (a *app) terminal(w io.Writer) *progress.Terminal {
	if !isTerminal(w) || a.variable("TERM") == "dumb" {
		return nil
	}
	return &progress.Terminal{Width: func() int { return widthOf(w) }, Height: func() int { return heightOf(w) },
		Styled: a.variable("NO_COLOR") == ""}
}

// variable is a variable of the environment, or "".
func (a *app) variable(name string) (value string) {
	for _, v := range a.environ {
		if key, text, _ := strings.Cut(v, "="); key == name {
			value = text
		}
	}
	return value
}

// widthOf is how many columns the terminal has that w writes to, 0 where it is none.
func widthOf(w io.Writer) int {
	width, _ := sizeOf(w)
	return width
}

// heightOf is how many lines it has.
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

// print lays text out for standard output.
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

// toStdout as the value of --json has the result alone on standard output.
const toStdout = "-"

// tables is where people read: standard output, unless the result goes there.
func (a *app) tables(opts option.Options) io.Writer {
	if opts.JSON == toStdout {
		return a.stderr
	}
	return a.stdout
}

// announce leaves r, the result of a run that begins or that measured nothing, where --json
// says.
func announce(path string, r any) error {
	if path == "" || path == toStdout {
		return nil
	}
	if err := result.Announce(path, r); err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return nil
}

// leaveFailure leaves r, the result of a run that measured nothing, where --json says.
func (a *app) leaveFailure(ctx context.Context, path string, r any) {
	// The error of the run is what the user has to know, not one of these.
	if path == toStdout {
		_ = a.save(ctx, path, r)
	} else {
		_ = announce(path, r)
	}
}

// save leaves r where --json says.
func (a *app) save(ctx context.Context, path string, r any) error {
	moved := func() { interrupt.Headway(ctx) }
	switch {
	case path == "":
		return nil
	case path == toStdout:
		return result.WriteTo(a.stdout, r, moved)
	case !result.Direct(path): // a disk may take long for all that it holds back, but does not stop
		defer interrupt.Bounded(ctx)()
	}
	return result.Write(path, r, moved)
}

// nameAfter is the name of a file that is made of what lies at a path, in the current folder.
func nameAfter(path, fallback, ending string) string {
	at, err := filepath.Abs(path)
	if path == "-" || err != nil || filepath.Base(at) == "/" {
		return fallback + ending
	}
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(at), ".gz"), ".json") + ending
}

// checkOutput refuses an empty --output, which would be taken for none: a script's variable may be empty.
func checkOutput(flags *pflag.FlagSet) error {
	if f := flags.Lookup("output"); f.Changed && f.Value.String() == "" {
		return usagef("--output is empty but must name a file, or be - for standard output")
	}
	return nil
}

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
	f.Moved = func() { interrupt.Headway(ctx) }
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
	defer interrupt.Bounded(o.ctx)() // a disk may take long for all that it holds back, but does not stop
	err := o.Write(r)
	if err != nil {
		o.fail(err)
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
