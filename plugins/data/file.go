package data

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// FileSettings are the settings of the file data.
type FileSettings struct {
	Path       string  `json:"path" doc:"file of samples, which may be compressed, or a folder of them, read in the order of their names; - is standard input"`
	Format     string  `json:"format" doc:"jsonl, csv, tsv, or auto: by the file's name"`
	Delimiter  string  `json:"delimiter" doc:"character between the columns of a CSV file, or tab; auto: a tab in TSV, else a comma"`
	Decimal    string  `json:"decimal" doc:"character before the decimals of a CSV file: a point or a comma"`
	Header     string  `json:"header" doc:"whether the first row of a CSV file is a header: yes, no, or auto: if no field of it is a number"`
	Columns    string  `json:"columns" doc:"what the columns of a CSV file are beside the target: indices, or features, which are numbers"`
	Target     string  `json:"target" doc:"column of a CSV file that is the target: its name in the header or its number from 1; of several targets a list of them, as y1,y2; empty: the last"`
	TargetType string  `json:"target_type" doc:"what targets are: classes, numbers, or auto: what the criterion takes"`
	HeldOut    float64 `json:"held_out" doc:"share of the samples that is held out for evaluation, from 0 to 0.5: 0.1 is every tenth"`
}

// DefaultFile has no path: the user must give one.
var DefaultFile = FileSettings{Format: "auto", Delimiter: "auto", Decimal: ".", Header: "auto", Columns: "indices",
	TargetType: "auto"}

// parser reads samples from r to its end.
type parser func(r io.Reader, out *fileSamples) error

type file struct {
	path   string
	files  []parsedFile
	split  split.Split
	wanted wanted
}

// parsedFile is a file with its parser.
type parsedFile struct {
	datafile.File
	parse parser
}

// NewFile reads samples from a file, or from the files of a folder one after the other, in one of two formats:
//
//   - jsonl: each line is an object {"input": [3, 1, 4], "target": 2}; blank
//     lines are skipped. A sample may have numbers, "features": [0.5, -1], instead of
//     indices or in addition to them. A sample may have several targets, "target": [2, 0];
//   - csv, or tsv: each row is a sample. Some columns are the targets, the others are
//     indices or features. Rows of indices may differ in length.
//
// Indices are integers of 0 or more. Targets are classes or numbers, as the criterion or a setting requires;
// classes are integers of 0 or more. All samples have the same number of features and the same number of targets. A
// share of the samples may be held out.
func NewFile(s FileSettings, env sdk.DataEnv) (sdk.Data, error) {
	if s.Path == "" {
		return nil, errors.New("setting path is empty: give the path of a data file")
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	files, err := datafile.List(s.Path, env.Timeout)
	if err != nil {
		return nil, err
	}
	d := &file{path: s.Path}
	for _, f := range files {
		parse, err := s.parser(f)
		if err != nil {
			return nil, err
		}
		d.files = append(d.files, parsedFile{f, parse})
	}
	if d.wanted, err = wantedOf(s.TargetType, env); err != nil {
		return nil, err
	}
	d.split, err = split.New(s.HeldOut, math.MaxInt)
	return d, err
}

func (s FileSettings) check() error {
	if err := checkChoices([]choice{
		{"format", s.Format, []string{"auto", "jsonl", "csv", "tsv"}},
		{"decimal", s.Decimal, []string{".", ","}},
		{"header", s.Header, []string{"auto", "yes", "no"}},
		{"columns", s.Columns, []string{"indices", "features"}},
	}); err != nil {
		return err
	}
	delimiter, err := s.delimiter("csv")
	if err == nil && string(delimiter) == s.Decimal {
		err = fmt.Errorf(
			"settings delimiter and decimal are both %s: set delimiter to what separates the columns, as ; or tab",
			quote.String(s.Decimal))
	}
	if s.Format == "tsv" {
		return nil
	}
	return err
}

// parser returns the parser for a file's format. parser does not open the file.
func (s FileSettings) parser(f datafile.File) (parser, error) {
	format := s.Format
	if format == "auto" {
		kind := f.Kind()
		if kind == "" {
			kind = datafile.Kind(s.Path) // Spark puts the format into the folder's name
		}
		switch kind {
		case ".jsonl", ".ndjson", ".json":
			format = "jsonl"
		case ".csv":
			format = "csv"
		case ".tsv", ".tab":
			format = "tsv"
		default:
			if err := f.Exists(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("the name of data file %s does not show its format: set format to jsonl, csv or tsv",
				f.Shown())
		}
	}
	if format != "jsonl" {
		delimiter, err := s.delimiter(format)
		return func(r io.Reader, out *fileSamples) error { return newCSV(r, s, delimiter).parse(out) }, err
	}
	ofCSV := s
	ofCSV.Path, ofCSV.Format, ofCSV.HeldOut, ofCSV.TargetType = "", DefaultFile.Format, 0, DefaultFile.TargetType
	if ofCSV != DefaultFile {
		return nil,
			fmt.Errorf("data file %s is read as JSON lines, but these settings are for CSV files: columns, target, header, delimiter, decimal",
				f.Shown())
	}
	return parseJSONLines, nil
}

// Load reads all files completely. The errors name the file, the line and the column, counted in bytes from 1.
func (f *file) Load() (*sdk.Samples, error) {
	out := &fileSamples{split: f.split, wanted: f.wanted}
	for i, one := range f.files {
		out.files = append(out.files, one.File)
		if err := one.read(out); err != nil {
			return nil, err
		}
		if out.count == 0 && i == len(f.files)-1 {
			return nil, fmt.Errorf("data %s %s holds no samples", fileOrFolder(f.files), quote.Word(f.path))
		}
	}
	return out.samples(), nil
}

func fileOrFolder[T any](files []T) string {
	if len(files) > 1 {
		return "folder"
	}
	return "file"
}

// read reads all samples of one file.
func (f parsedFile) read(out *fileSamples) error {
	text, err := f.OpenText("auto")
	if err != nil {
		return err
	}
	defer func() { _ = text.Close() }() // reading has already reported any error
	if err := f.parse(&boundedLines{r: text}, out); err != nil {
		return fmt.Errorf("data file %s, %w", f.Shown(), err)
	}
	return nil
}
