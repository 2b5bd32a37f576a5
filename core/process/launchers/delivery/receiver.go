package delivery

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Receiver receives a delivery, on the node that submitted the command.
type Receiver struct {
	// Stdout receives the command's output. Foreign is called with each line from before the command's start.
	Stdout  io.Writer
	Foreign func(line string)
	// Folder is where the files are written. Folder is created with the first file.
	Folder string
	// Began is called with where the command runs. Heard is called for every frame.
	Began func(Start)
	Heard func()

	root  *os.Root
	file  *os.File
	name  string
	began bool
}

// ErrCut means that the delivery ended before the command did.
var ErrCut = errors.New("its standard output has ended before its exit status")

// Receive reads a delivery to its end and returns the command's exit status. All files are then complete.
func (r *Receiver) Receive(from io.Reader) (status int, err error) {
	defer func() {
		err = errors.Join(err, r.finish())
		if r.root != nil {
			_ = r.root.Close()
		}
	}()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, lineBytes)
	for lines.Scan() {
		f, ok := parse(lines.Bytes())
		switch {
		case !r.began && (!ok || f.Start == nil):
			r.Foreign(lines.Text())
			continue
		case !ok:
			return 0, fmt.Errorf("its standard output has the line %s, which no psbench of this version writes",
				quote.Message(lines.Text()))
		}
		r.Heard()
		if f.Status != nil {
			return *f.Status, nil
		}
		if err := r.take(f); err != nil {
			return 0, err
		}
	}
	if lines.Err() != nil {
		return 0, lines.Err()
	}
	return 0, ErrCut
}

// parse parses a line. ok is false if the line is not a frame.
func parse(line []byte) (f frame, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return f, bytes.HasPrefix(line, []byte("{")) && dec.Decode(&f) == nil && !dec.More()
}

func (r *Receiver) take(f frame) error {
	switch {
	case f.Start != nil && !r.began:
		r.began = true
		r.Began(*f.Start)
	case len(f.Stdout) > 0:
		_, err := r.Stdout.Write(f.Stdout)
		return err
	case f.File != "":
		return r.write(f.File, f.Data)
	}
	return nil
}

// write appends data to a file. The file stays within the folder, whatever its name contains.
func (r *Receiver) write(name string, data []byte) (err error) {
	if r.root == nil {
		if err = os.MkdirAll(r.Folder, 0o777); err == nil { // #nosec G301 -- the user's umask
			r.root, err = os.OpenRoot(r.Folder)
		}
		if err != nil {
			return r.failed(name, err)
		}
	}
	if dir, is := strings.CutSuffix(name, "/"); is {
		err = r.root.MkdirAll(filepath.FromSlash(dir), 0o777) // #nosec G301 -- the user's umask
	} else {
		if name != r.name || r.file == nil {
			if err := r.finish(); err != nil {
				return err
			}
			if r.file, err = r.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil { // #nosec G302 -- likewise
				r.file = nil
				return r.failed(name, err)
			}
			r.name = name
		}
		_, err = r.file.Write(data)
	}
	return r.failed(name, err)
}

// finish flushes the current file to disk and closes it.
func (r *Receiver) finish() error {
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.file.Sync(), r.file.Close())
	r.file = nil
	return r.failed(r.name, err)
}

func (r *Receiver) failed(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("its file %s cannot be written to %s: %w", quote.Word(name), quote.Word(r.Folder),
		draft.Cause(err))
}
