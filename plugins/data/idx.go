package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/data/generated"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// IdxSettings are the settings of the idx data.
type IdxSettings struct {
	Images        string  `json:"images" doc:"idx file of images; empty, and labels too: the generated sample that is built in"`
	Labels        string  `json:"labels" doc:"idx file of their labels"`
	HeldOutImages string  `json:"held_out_images" doc:"idx file of images for evaluation; empty: a share of the images"`
	HeldOutLabels string  `json:"held_out_labels" doc:"idx file of their labels"`
	HeldOut       float64 `json:"held_out" doc:"share of the images that is held out for evaluation, from 0 to 0.5: 0.1 is every tenth; of no effect with held_out_images"`
}

// DefaultIdx reads the built-in sample.
var DefaultIdx = IdxSettings{HeldOut: 0.1}

// The magic numbers of idx files of bytes: three dimensions for images, one for labels.
const (
	imagesMagic = 0x00000803
	labelsMagic = 0x00000801
)

// idxPair is a file of images and the file of their labels.
type idxPair struct{ images, labels datafile.File }

type idx struct {
	trained idxPair
	heldOut *idxPair // nil: a share of the training samples
	split   split.Split
}

// NewIdx reads images and their labels from idx files, the format of MNIST. The files may be compressed by gzip,
// zstd or bzip2. A sample has one feature for each pixel, row by row: the pixel's value, 0 to 255, divided by 255.
// The label is the target.
func NewIdx(s IdxSettings, env sdk.DataEnv) (sdk.Data, error) {
	for _, pair := range []struct{ images, labels, imagesPath, labelsPath string }{
		{"images", "labels", s.Images, s.Labels},
		{"held_out_images", "held_out_labels", s.HeldOutImages, s.HeldOutLabels},
	} {
		if (pair.imagesPath == "") != (pair.labelsPath == "") {
			return nil, fmt.Errorf("setting %s is %s and setting %s is %s: give both or none",
				pair.images, quote.String(pair.imagesPath), pair.labels, quote.String(pair.labelsPath))
		}
	}
	d := &idx{trained: idxPair{
		datafile.InMemory(generated.DigitImagesName, generated.DigitImages),
		datafile.InMemory(generated.DigitLabelsName, generated.DigitLabels),
	}}
	if s.Images != "" {
		d.trained = idxPair{datafile.OnDisk(s.Images, env.Timeout), datafile.OnDisk(s.Labels, env.Timeout)}
	}
	if s.HeldOutImages != "" {
		d.heldOut = &idxPair{datafile.OnDisk(s.HeldOutImages, env.Timeout),
			datafile.OnDisk(s.HeldOutLabels, env.Timeout)}
		return d, nil
	}
	var err error
	d.split, err = split.New(s.HeldOut, math.MaxInt)
	return d, err
}

// Load reads all files.
func (d *idx) Load() (*sdk.Samples, error) {
	all, err := d.trained.read()
	if err != nil {
		return nil, err
	}
	var trained, held []int
	for i := range all.labels {
		if d.split.HeldOut(int64(i)) {
			held = append(held, i)
		} else {
			trained = append(trained, i)
		}
	}
	out := all.samples(trained)
	if len(held) > 0 {
		out.HeldOut = all.samples(held)
	}
	if d.heldOut == nil {
		return out, nil
	}
	test, err := d.heldOut.read()
	if err != nil {
		return nil, err
	}
	if test.rows != all.rows || test.columns != all.columns {
		return nil, fmt.Errorf(
			"data file %s has images of %d x %d pixels but %s of %d x %d; they must be of the same size",
			d.heldOut.images.Shown(), test.rows, test.columns, d.trained.images.Shown(), all.rows, all.columns)
	}
	out.HeldOut = test.samples(nil)
	return out, nil
}

// images holds the images and labels of a pair of files.
type images struct {
	files         *idxPair
	rows, columns int
	pixels        []byte // [images, rows, columns]
	labels        []byte
}

func (p *idxPair) read() (*images, error) {
	sizes, pixels, err := readIdx(p.images, imagesMagic, "images")
	if err != nil {
		return nil, err
	}
	count, labels, err := readIdx(p.labels, labelsMagic, "labels")
	if err != nil {
		return nil, err
	}
	if count[0] != sizes[0] {
		return nil, fmt.Errorf("data file %s has %d images but %s has %d labels; there must be one for each image",
			p.images.Shown(), sizes[0], p.labels.Shown(), count[0])
	}
	return &images{files: p, rows: sizes[1], columns: sizes[2], pixels: pixels, labels: labels}, nil
}

// samples returns the chosen images as samples; nil chooses all.
func (m *images) samples(which []int) *sdk.Samples {
	if which == nil {
		for i := range m.labels {
			which = append(which, i)
		}
	}
	size := m.rows * m.columns
	out := &sdk.Samples{Batch: sdk.Batch{
		Features: make([]float32, 0, len(which)*size),
		Targets:  make([]int64, 0, len(which)),
	}}
	for _, i := range which {
		for _, p := range m.pixels[i*size : (i+1)*size] {
			out.Features = append(out.Features, float32(p)/255)
		}
		out.Targets = append(out.Targets, int64(m.labels[i]))
	}
	out.Origin = func(sample, position int) string {
		if position < 0 {
			return fmt.Sprintf("%s, label %d", m.files.labels.Shown(), which[sample]+1)
		}
		return fmt.Sprintf("%s, image %d, row %d, column %d", m.files.images.Shown(), which[sample]+1,
			position/m.columns+1, position%m.columns+1)
	}
	return out
}

// readIdx reads a file of bytes. The file starts with a magic number, whose last byte is the number of dimensions,
// and the size of each dimension. All header values are big-endian and have 32 bits. The items follow, with the
// last dimension contiguous.
func readIdx(f datafile.File, magic uint32, items string) (sizes []int, content []byte, err error) {
	in, err := f.Open("auto")
	if err != nil {
		return nil, nil, err
	}
	sizes, content, err = readItems(in, magic, items)
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, nil, fmt.Errorf("data file %s: %w", f.Shown(), err)
	}
	return sizes, content, nil
}

func readItems(in io.Reader, magic uint32, items string) (sizes []int, content []byte, err error) {
	header := make([]byte, 4+4*(magic&0xff))
	n, err := io.ReadFull(in, header)
	if ends := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); err != nil && !ends {
		return nil, nil, err
	}
	if got := binary.BigEndian.Uint32(header); n >= 4 && got != magic {
		return nil, nil, fmt.Errorf("the magic number is 0x%08x but must be 0x%08x, that of %s in bytes", got, magic,
			items)
	}
	if n < len(header) {
		return nil, nil, fmt.Errorf("it ends after %d bytes but its header has %d", n, len(header))
	}
	size := uint64(1)
	for at := 4; at < len(header); at += 4 {
		one := binary.BigEndian.Uint32(header[at:])
		if size *= uint64(one); size == 0 || size > maxNumbers {
			return nil, nil,
				fmt.Errorf("dimension %d of the %s is %d; all sizes must be 1 or more and their product at most %d",
					at/4, items, one, maxNumbers)
		}
		sizes = append(sizes, int(one))
	}
	// The header's size is not allocated up front: the file may be shorter than the header says.
	content, err = io.ReadAll(io.LimitReader(in, int64(size)+1)) // #nosec G115 -- at most maxNumbers
	switch got := uint64(len(content)); {
	case err != nil:
		return nil, nil, fmt.Errorf("after %d bytes: %w", n+len(content), err)
	case got < size:
		return nil, nil, fmt.Errorf("it ends after %d bytes but its header announces %d: %d %s", uint64(n)+got, uint64(n)+size, sizes[0], items) // #nosec G115 -- n >= 0
	case got > size:
		return nil, nil, fmt.Errorf("there are more than the %d bytes that its header announces: %d %s", uint64(n)+size, sizes[0], items) // #nosec G115 -- n >= 0
	}
	return sizes, content, nil
}
