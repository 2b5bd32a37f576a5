package folder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/internal/quote"
)

// numbersColumn holds all numbers of result.json in order, except those in its list of columns. Tables are computed
// again from samples. A number without samples, such as the peak memory, is protected by this column.
const numbersColumn = "head.numbers"

// number is a number in result.json.
type number struct {
	path  string // such as noise[1].load
	value float64
}

// numbersOf returns all numbers in the text of result.json, except those in its list of columns.
func numbersOf(text []byte) ([]number, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all []number
	var walk func(path string) error
	walk = func(path string) error {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case json.Number:
			x, err := strconv.ParseFloat(string(t), 64)
			if err != nil {
				return fmt.Errorf("%s is %s, which no float64 can hold", quote.Text(path), quote.Text(string(t)))
			}
			all = append(all, number{path, x})
		case json.Delim:
			for i := 0; d.More(); i++ {
				inner := fmt.Sprintf("%s[%d]", path, i)
				if t == '{' {
					key, err := d.Token()
					if err != nil {
						return err
					}
					inner = fmt.Sprint(key)
					if path != "" {
						inner = path + "." + inner
					}
				}
				kept := len(all)
				if err := walk(inner); err != nil {
					return err
				}
				if inner == npy.Folder { // the columns have their own checksums
					all = all[:kept]
				}
			}
			_, err = d.Token() // end of the object or list
			return err
		}
		return nil
	}
	return all, walk("")
}

// columnOf returns a column that contains these numbers.
func columnOf(numbers []number) npy.Column {
	return npy.Column{Name: numbersColumn, Count: len(numbers), Floats: func(yield func(float64) bool) {
		for _, n := range numbers {
			if !yield(n.value) {
				return
			}
		}
	}}
}

// checkNumbers returns an error if the numbers of result.json differ from those that the run stored in the column.
// Folders of older versions do not have this column.
func checkNumbers(text []byte, c *npy.Columns) error {
	if !c.Has(numbersColumn) {
		return nil
	}
	numbers, err := numbersOf(text)
	if err != nil {
		return err
	}
	next := c.Floats(numbersColumn, len(numbers))
	if err := c.Err(); err != nil {
		return err
	}
	var wrong error
	for _, n := range numbers { // reads all numbers, because the checksum covers the whole column
		if was := next(); was != n.value && wrong == nil {
			wrong = fmt.Errorf("%s of %s is %v, but was %v when the run ended: the file was changed", quote.Text(n.path),
				resultName, n.value, was)
		}
	}
	return wrong
}
