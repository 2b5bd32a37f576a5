package main

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/psbench/psbench/internal/numeral"
)

// wholeFlag is a flag whose value is a whole number, however it is written.
type wholeFlag int

// wholeVar adds a flag for a whole number, as pflag's IntVar does.
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

// numberFlag is a flag whose value is a number, however it is written.
type numberFlag float64

// numberVar adds a flag for a number, as pflag's Float64Var does.
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
