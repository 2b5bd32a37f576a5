package npy

import (
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Column holds the numbers to write to a file. Either Ints or Floats is set.
type Column struct {
	Name   string // such as series.start_ns
	Count  int
	Ints   iter.Seq[int64]
	Floats iter.Seq[float64]
}

// File describes a column's file. File is part of the JSON document next to the columns.
type File struct {
	// Name is the name of the column. Path is relative to the run folder.
	Name string `json:"name"`
	Path string `json:"path"`
	// Type is int64 or float64, as numpy names them.
	Type  string `json:"type"`
	Count int    `json:"count"` // number of elements
	// CRC32 is the CRC-32 of the file in hex, as zlib computes it.
	CRC32 string `json:"crc32"`
}

// Folder is the name of the folder that contains the columns.
const Folder = "samples"

func pathOf(name string) string { return Folder + "/" + name + ".npy" }

func (t Type) name() string {
	if t == Int64 {
		return "int64"
	}
	return "float64"
}

func (c Column) kind() Type {
	if c.Ints != nil {
		return Int64
	}
	return Float64
}

// Save writes the column to a file in dir and returns the file's description. When Save returns, the file is flushed to
// disk. Save calls moved after each piece that it writes.
func (c Column) Save(dir string, moved func()) (File, error) {
	t := c.kind()
	f, err := os.OpenFile(filepath.Join(dir, c.Name+".npy"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // #nosec G302 G304 -- the user's folder and umask
	if err != nil {
		return File{}, draft.Cause(err)
	}
	crc, err := c.write(NewWriter(telling{f, moved}, t, c.Count))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return File{Name: c.Name, Path: pathOf(c.Name), Type: t.name(), Count: c.Count, CRC32: fmt.Sprintf("%08x", crc)},
		draft.Cause(err)
}

func (c Column) write(w *Writer) (uint32, error) {
	if c.Ints != nil {
		for x := range c.Ints {
			w.Put(uint64(x)) // #nosec G115 -- its bits
		}
	} else {
		for x := range c.Floats {
			w.Put(math.Float64bits(x))
		}
	}
	return w.Close()
}

// telling is a file writer that calls moved after each write.
type telling struct {
	f     *os.File
	moved func()
}

func (t telling) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	t.moved()
	return n, err
}

// Columns holds the open files of a folder.
type Columns struct {
	byName map[string]*open
	order  []*open
	err    error
}

type open struct {
	File
	*Reader
	f     *os.File
	asked bool
}

// Open opens files in dir and checks that each file has the recorded length.
func Open(dir string, files []File) (*Columns, error) {
	c := &Columns{byName: map[string]*open{}}
	for _, f := range files {
		o, err := openFile(dir, f)
		if err == nil && c.byName[f.Name] != nil {
			err = fmt.Errorf("samples: column %s is named twice", quote.Word(f.Name))
		}
		if err != nil {
			c.Close()
			return nil, err
		}
		c.byName[f.Name], c.order = o, append(c.order, o)
	}
	return c, nil
}

func openFile(dir string, f File) (*open, error) {
	if f.Path != pathOf(f.Name) || f.Name != filepath.Base(f.Name) {
		return nil, fmt.Errorf("samples: column %s is in %s, but must be in %s", quote.Word(f.Name), quote.Word(f.Path),
			quote.Word(pathOf(f.Name)))
	}
	wrong := func(err error) error { return fmt.Errorf("%s: %w", quote.Word(f.Path), draft.Cause(err)) }
	path := filepath.Join(dir, f.Path)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is %s, no file", info.Mode())
	}
	if err != nil {
		return nil, wrong(err)
	}
	file, err := os.Open(path) // #nosec G304 -- the user names the folder
	if err != nil {
		return nil, wrong(err)
	}
	r, err := NewReader(file, info.Size())
	switch {
	case err != nil:
	case r.Count != f.Count:
		err = fmt.Errorf("it has %d numbers, but result.json says %d", r.Count, f.Count)
	case r.Type.name() != f.Type:
		err = fmt.Errorf("it has numbers of type %s, but result.json says %s", r.Type.name(), quote.Word(f.Type))
	}
	if err != nil {
		_ = file.Close()
		return nil, wrong(err)
	}
	return &open{File: f, Reader: r, f: file}, nil
}

// Ints returns a function that yields the numbers of a column one after another. If the column is missing, has another
// type or does not have count numbers, the function yields only 0 and Err returns the reason. If reading fails, Check
// returns the reason.
func (c *Columns) Ints(name string, count int) func() int64 {
	r := c.column(name, Int64, count)
	return func() int64 { return int64(r.Next()) } // #nosec G115 -- its bits
}

// Floats does the same as Ints for floating-point numbers.
func (c *Columns) Floats(name string, count int) func() float64 {
	r := c.column(name, Float64, count)
	return func() float64 { return math.Float64frombits(r.Next()) }
}

// Has reports whether a column exists.
func (c *Columns) Has(name string) bool { return c.byName[name] != nil }

// Count returns the length of a column, or 0 if it is missing.
func (c *Columns) Count(name string) int {
	if o := c.byName[name]; o != nil {
		return o.Reader.Count
	}
	return 0
}

func (c *Columns) column(name string, t Type, count int) *Reader {
	o := c.byName[name]
	var err error
	switch {
	case o == nil:
		err = fmt.Errorf("samples: there is no column %s", name)
	case o.Reader.Type != t:
		err = fmt.Errorf("samples: column %s must be of type %s", name, t.name())
	case o.Reader.Count != count:
		err = fmt.Errorf("samples: column %s has %d numbers, but the list that they belong to has %d", name, o.Reader.Count,
			count)
	default:
		o.asked = true
		return o.Reader
	}
	if c.err == nil {
		c.err = err
	}
	return &Reader{err: err}
}

// Err returns the first error of Ints or Floats. After an error, all numbers are 0.
func (c *Columns) Err() error { return c.err }

// Check returns an error if a column that was read is damaged. Call it after all numbers have been read. Check ignores
// columns that were not read, because they may come from a later version of psbench.
func (c *Columns) Check() error {
	if c.err != nil {
		return c.err
	}
	for _, o := range c.order {
		if !o.asked {
			continue
		}
		crc, err := strconv.ParseUint(o.CRC32, 16, 32)
		if err != nil || len(o.CRC32) != 8 {
			return fmt.Errorf("samples: the crc32 of column %s is %s, but must be 8 hexadecimal digits", o.Name,
				quote.Word(o.CRC32))
		}
		if err := o.Check(uint32(crc)); err != nil { // #nosec G115 -- of 32 bits
			return fmt.Errorf("%s: %w", o.Path, draft.Cause(err))
		}
	}
	return nil
}

// Close closes the files.
func (c *Columns) Close() {
	for _, o := range c.order {
		_ = o.f.Close()
	}
}
