package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// wholeFlag is a flag whose value is a whole number in any notation.
type wholeFlag int

// wholeVar adds a flag for a whole number, like pflag's IntVar.
func wholeVar(flags *pflag.FlagSet, to *int, name string, otherwise int, usage string) {
	*to = otherwise
	flags.Var((*wholeFlag)(to), name, usage)
}

func (f *wholeFlag) String() string { return strconv.Itoa(int(*f)) }
func (f *wholeFlag) Type() string   { return "int" }

func (f *wholeFlag) Set(text string) error {
	n, err := numeral.Int(text)
	if err == nil && int64(int(n)) != n {
		err = errors.New("it does not fit")
	}
	if err == nil {
		*f = wholeFlag(n)
	}
	return err
}

// numberFlag is a flag whose value is a number in any notation.
type numberFlag float64

// numberVar adds a flag for a number, like pflag's Float64Var.
func numberVar(flags *pflag.FlagSet, to *float64, name string, otherwise float64, usage string) {
	*to = otherwise
	flags.Var((*numberFlag)(to), name, usage)
}

func (f *numberFlag) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }
func (f *numberFlag) Type() string   { return "float64" }

func (f *numberFlag) Set(text string) error {
	n, err := numeral.Float(text, 64)
	if err == nil {
		*f = numberFlag(n)
	}
	return err
}

// percentType is the type name of flags whose values are percentages.
const percentType = "PERCENT"

// partType is the type name of flags whose values are percentages of at most 100%.
const partType = "PART"

// percentage is a flag such as 5%.
type percentage struct {
	share float64
	given bool
	part  bool // at most 100%
}

func (p *percentage) String() string {
	if *p == (percentage{}) {
		return "" // so help shows no default
	}
	return strconv.FormatFloat(100*p.share, 'g', 6, 64) + "%"
}

func (p *percentage) Type() string {
	if p.part {
		return partType
	}
	return percentType
}

func (p *percentage) Set(text string) error {
	number, ok := strings.CutSuffix(text, "%")
	v, err := numeral.Float(number, 64)
	most := 1000.0
	if p.part {
		most = 100
	}
	if !ok || err != nil || !(v >= 0 && v <= most) {
		return fmt.Errorf("%s must be %s", quote.String(text), flagTypes[p.Type()])
	}
	p.share, p.given = v/100, true
	return nil
}

// mostFailedFlag is a flag of every command that names a winning cell.
const mostFailedFlag = "most-failed"

// mostFailed is the largest share of failed runs with which a cell can still win.
type mostFailed struct{ percentage }

// add adds the flag to a command.
func (m *mostFailed) add(cmd *cobra.Command) {
	m.percentage = percentage{share: verdict.DefaultMostFailed, part: true}
	cmd.Flags().Var(&m.percentage, mostFailedFlag, "a cell cannot win if more than this `PERCENT` of its runs failed")
}

// loader returns a loader whose studies are judged with this share.
func (m *mostFailed) loader() *model.Loader { return &model.Loader{MostFailed: &m.share} }
