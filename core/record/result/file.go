package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Running is the error in a result whose run has not ended or was killed.
const Running = "running"

// Announce stores r at path before the run has measured anything. Announce replaces an older result, which could be
// mistaken for the result of this run. Announce also shows early whether Write will work. If path is a device or a
// pipe, Announce writes nothing.
func Announce(path string, r any) error {
	target, direct, err := resolve(path)
	switch {
	case err != nil:
		return err
	case direct:
		err = unix.Access(target, unix.W_OK)
	default:
		err = replace(target, document{r, compressed(path)}, func() {})
	}
	if err != nil {
		return fmt.Errorf("cannot write a result to %s: %w", quote.Word(path), err)
	}
	return nil
}

// WriteTo writes r to w as Write does, but without compression.
func WriteTo(w io.Writer, r any, moved func()) error { return encodeJSON(pieces{w, moved}, r) }

// Write stores r, a result of any schema, at path as JSON. Write compresses with gzip if path ends with .gz, whatever
// the name of the target if path is a link. A reader of path sees either the old file or the complete new one, never a
// part. If path is a device or a pipe, Write writes to it directly. Write calls moved after each piece that it writes.
func Write(path string, r any, moved func()) error {
	target, direct, err := resolve(path)
	if err != nil {
		return err
	}
	if direct {
		err = writeDirect(target, document{r, compressed(path)}, moved)
	} else {
		err = replace(target, document{r, compressed(path)}, moved)
	}
	if err != nil {
		return fmt.Errorf("cannot write the result to %s: %w", quote.Word(path), err)
	}
	return nil
}

// Direct reports whether Write writes directly to path, because path is a device or a pipe. A reader of a pipe may stop
// reading.
func Direct(path string) bool {
	_, direct, _ := resolve(path)
	return direct
}

// mostText limits the text of a result in bytes, so that a small gzipped file cannot fill the memory. Ten million
// measurements need about 200 MB.
const mostText = 1 << 30

// Read reads the result at path, of this schema or the previous one. The file may be compressed.
func Read(path string) (*Result, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, fmt.Errorf("the result %s cannot be read: %w", quote.Word(path), draft.Cause(err))
	}
	defer func() { _ = f.Close() }()
	return ReadFrom(f, quote.Word(path))
}

// ReadFrom reads a result from f, which is a file or a pipe. ReadFrom works like Read. Errors use name for f.
func ReadFrom(f io.ReadSeeker, name string) (*Result, error) {
	data, err := readText(f, mostText)
	var r *Result
	if err == nil {
		r, err = parse(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a result that can be read: %w", name, draft.Cause(err))
	}
	return r, nil
}

// readText reads the text of f. The limit of the text is most bytes. readText reads a file twice: first to find the
// size, then to read the text. readText therefore allocates only as much memory as the text needs, and none if the text
// is too large.
func readText(f io.ReadSeeker, most int64) ([]byte, error) {
	var text bytes.Buffer
	if begin, err := f.Seek(0, io.SeekCurrent); err == nil { // a pipe cannot seek
		size, err := copyText(io.Discard, f, most)
		if err != nil {
			return nil, err
		}
		if _, err := f.Seek(begin, io.SeekStart); err != nil {
			return nil, err
		}
		text.Grow(int(size) + bytes.MinRead) // enough room to detect the end without growing
	}
	_, err := copyText(&text, f, most)
	return text.Bytes(), err
}

// copyText copies the text of r. copyText returns an error early if the text does not start like a JSON object, as for
// /dev/zero.
func copyText(to io.Writer, r io.Reader, most int64) (int64, error) {
	plain, err := jsonfile.Plain(r)
	if err != nil {
		return 0, err
	}
	in := bufio.NewReader(plain)
	start, err := in.Peek(1)
	if err == nil && !strings.Contains("{ \t\r\n", string(start)) {
		return 0, fmt.Errorf("it begins with %q, but must hold an object: {...}", start)
	}
	size, err := io.Copy(to, io.LimitReader(in, most+1)) // returns the read error again, if there was one
	if err == nil && size > most {
		err = fmt.Errorf("its text has more than %d bytes, the most that psbench reads: "+
			"look at it with other tools, e.g. jq, or run fewer iterations", most)
	}
	return size, err
}

// resolve follows symbolic links, so that a rename replaces the target and not a link. direct is true if Write must
// write to the target directly.
func resolve(path string) (target string, direct bool, err error) {
	if path == "" {
		return "", false, errors.New("the path of the result is empty: name a file")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, false, nil
	case err != nil:
		return "", false, fmt.Errorf("cannot write a result to %s: %w", quote.Word(path), draft.Cause(err))
	case info.IsDir():
		return "", false, fmt.Errorf("cannot write a result to %s: it is a directory, name a file in it",
			quote.Word(path))
	case !info.Mode().IsRegular():
		return path, true, nil
	}
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", false, fmt.Errorf("cannot write a result to %s: %w", quote.Word(path), draft.Cause(err))
	}
	return target, false, nil
}

func writeDirect(path string, d document, moved func()) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // #nosec G304 -- the user names the file
	if err != nil {
		return draft.Cause(err)
	}
	err = d.encode(pieces{f, moved})
	if cerr := f.Close(); err == nil {
		err = draft.Cause(cerr)
	}
	return err
}

// replace writes d to a new file and renames it to path. If path exists, the new file gets its mode and owner.
func replace(path string, d document, moved func()) error {
	f, err := draft.New(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if info, err := os.Stat(path); err == nil {
		if err := f.File.Chmod(info.Mode().Perm()); err != nil {
			return draft.Cause(err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = f.File.Chown(int(stat.Uid), int(stat.Gid)) // for the file of another user, this works only as root
		}
	}
	if err := d.encode(pieces{f.File, moved}); err != nil {
		return err
	}
	// Without Sync, a full disk may be reported only after the file has been renamed.
	if err := f.File.Sync(); err != nil {
		return draft.Cause(err)
	}
	return f.Publish()
}

// document is the content of a file.
type document struct {
	value      any
	compressed bool // compressed with gzip
}

func compressed(path string) bool { return strings.HasSuffix(path, ".gz") }

func (d document) encode(w io.Writer) error {
	if !d.compressed {
		return encodeJSON(w, d.value)
	}
	z, err := gzip.NewWriterLevel(w, d.level())
	if err != nil {
		return err
	}
	err = encodeJSON(z, d.value)
	if cerr := z.Close(); err == nil {
		err = draft.Cause(cerr)
	}
	return err
}

// level returns the compression level for gzip. level returns the default level if that takes less than half a second.
// For unusually many measurements, level returns a faster level. Level 3 compresses numbers better than levels 4 to 8.
func (d document) level() int {
	const many = 100_000
	if r, ok := d.value.(*Result); ok {
		count := 0
		for _, s := range r.Series {
			count += s.Len()
		}
		if count > many {
			return 3
		}
	}
	return gzip.BestCompression
}

func encodeJSON(w io.Writer, r any) error {
	if r, ok := r.(*Result); ok { // streams, because the text may be too large for memory
		return draft.Cause(r.write(w))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return draft.Cause(e.Encode(r))
}

// pieces is a writer that writes in pieces and calls moved after each piece.
type pieces struct {
	w     io.Writer
	moved func()
}

const pieceBytes = 1 << 16 // capacity of a pipe

func (p pieces) Write(data []byte) (written int, err error) {
	for written < len(data) && err == nil {
		var n int
		n, err = p.w.Write(data[written:min(written+pieceBytes, len(data))])
		written += n
		p.moved()
	}
	return written, err
}
