package data

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/data/generated"
	"github.com/psbench/psbench/plugins/data/internal/clicklog"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// CriteoSettings are the settings of the criteo data.
type CriteoSettings struct {
	Path           string  `json:"path" doc:"click log, or a folder whose files are read in the order of their names; empty: the generated sample that is built in"`
	Format         string  `json:"format" doc:"tsv: columns are separated by tabs; csv: by commas; auto: by tabs if the first line of a file has one"`
	Delimiter      string  `json:"delimiter" doc:"another character between the columns, as ; empty: by the format"`
	Compression    string  `json:"compression" doc:"none, gzip, zstd, bzip2, or auto: by how a file begins"`
	Numbers        string  `json:"numbers" doc:"log: a number x becomes log(1+max(x, 0)); plain: it stays as it is. Empty ones are 0"`
	Categories     string  `json:"categories" doc:"hash: the text of a category is hashed to a row of its table; index: it is the row"`
	HeldOut        float64 `json:"held_out" doc:"share of the samples that is held out for evaluation, from 0 to 0.5: 0.1 is every tenth"`
	HeldOutSamples int     `json:"held_out_samples" doc:"samples held out at most"`
	MaxBadLines    int     `json:"max_bad_lines" doc:"malformed lines that are passed over before one is an error"`
}

// DefaultCriteo reads the built-in sample.
var DefaultCriteo = CriteoSettings{
	Format: "auto", Compression: "auto", Numbers: "log", Categories: "hash", HeldOut: 0.1, HeldOutSamples: 100_000,
}

type criteo struct {
	log      clicklog.Log
	unfitted error // nil if the model accepts the features and tables of the log
}

var (
	_ sdk.StreamedData = (*criteo)(nil)
	_ sdk.FittedData   = (*criteo)(nil)
	_ sdk.Describer    = (*criteo)(nil)
)

// NewCriteo streams click logs in the format of the Criteo data sets. The files may be larger than memory. Each
// line has a label (0 or 1), 13 numbers and 26 categories. In a sample, the numbers are the features and the label
// is the target. The bag has one row from each of the model's 26 tables.
//
// XXH64 hashes each category, so the empty text counts as a category too. The row of a category in table k, from 0,
// is the whole part of h*rows/2^64, where h is the hash of the category's text times (2k+1)*0x9E3779B97F4A7C15,
// modulo 2^64.
func NewCriteo(s CriteoSettings, env sdk.DataEnv) (sdk.Data, error) {
	separators := map[string]byte{"auto": 0, "tsv": '\t', "csv": ','}
	if err := checkChoices([]choice{
		{"format", s.Format, []string{"auto", "tsv", "csv"}},
		{"compression", s.Compression, datafile.Forms},
		{"numbers", s.Numbers, []string{"log", "plain"}},
		{"categories", s.Categories, []string{"hash", "index"}},
	}); err != nil {
		return nil, err
	}
	separator := separators[s.Format]
	if s.Delimiter != "" {
		if separator = s.Delimiter[0]; len(s.Delimiter) > 1 || s.Format != "auto" ||
			strings.Contains("\r\n+-.0123456789", s.Delimiter) {
			return nil, fmt.Errorf(
				"setting delimiter is %s but must be one ASCII character that no number has, and format auto",
				quote.String(s.Delimiter))
		}
	}
	if s.MaxBadLines < 0 {
		return nil, fmt.Errorf("setting max_bad_lines is %d but must be 0 or more", s.MaxBadLines)
	}
	parts, err := split.New(s.HeldOut, s.HeldOutSamples)
	if err != nil {
		return nil, err
	}
	files, err := clickLogs(s.Path, env.Timeout)
	if err != nil {
		return nil, err
	}
	d := &criteo{log: clicklog.Log{
		Files: files, Separator: separator, Compression: s.Compression,
		LogNumbers: s.Numbers == "log", IndexRows: s.Categories == "index",
		MaxMalformed: s.MaxBadLines, Split: parts,
	}}
	d.Fit(sdk.InputSpec{})
	return d, nil
}

// Fit implements sdk.FittedData: it records how many rows each table of the model has.
func (d *criteo) Fit(in sdk.InputSpec) {
	d.log.Rows, d.unfitted = in.Tables, nil
	if numbers := in.Features - in.LookedUp; numbers != clicklog.Numbers || len(in.Tables) != clicklog.Categories {
		d.unfitted = fmt.Errorf(
			"a click log has %d numbers and %d categories but the model takes %d numbers and the rows of %d tables",
			clicklog.Numbers, clicklog.Categories, numbers, len(in.Tables))
	}
}

// Load implements sdk.StreamedData: it reads the held-out samples.
func (d *criteo) Load() (*sdk.Samples, error) {
	if d.unfitted != nil {
		return nil, d.unfitted
	}
	held, err := d.log.HeldOut()
	if err != nil {
		return nil, err
	}
	return &sdk.Samples{HeldOut: held}, nil
}

// Open implements sdk.StreamedData.
func (d *criteo) Open() (sdk.SampleReader, error) {
	if d.unfitted != nil {
		return nil, d.unfitted
	}
	return d.log.Open(), nil
}

// Facts implements sdk.Describer: it reports malformed lines.
func (d *criteo) Facts() map[string]string {
	lines, last := d.log.Malformed()
	if lines == 0 {
		return nil
	}
	return map[string]string{"malformed_lines": fmt.Sprintf("%d passed over; the last: %v", lines, last)}
}

// clickLogs lists the files at a path.
func clickLogs(path string, timeout time.Duration) ([]datafile.File, error) {
	if path == "" {
		return []datafile.File{datafile.InMemory(generated.ClicksName, generated.Clicks)}, nil
	}
	files, err := datafile.List(path, timeout)
	for _, f := range files {
		if err := f.Anew(); err != nil {
			return nil, fmt.Errorf("%w: a click log is read again in each epoch, so write it to a file first", err)
		}
	}
	return files, err
}

// choice is a setting that accepts one of several words.
type choice struct {
	name, value string
	words       []string
}

// checkChoices returns an error that names the first setting with an unknown word.
func checkChoices(choices []choice) error {
	for _, c := range choices {
		if !slices.Contains(c.words, c.value) {
			last := len(c.words) - 1
			return fmt.Errorf("setting %s is %s but must be %s or %s", c.name, quote.String(c.value),
				strings.Join(c.words[:last], ", "), c.words[last])
		}
	}
	return nil
}
