package folder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/internal/quote"
)

// numbersColumn has the numbers of result.json, in its order. Tables show what is computed again of
// samples; a number that was read once, as a peak of memory, has none, and stands here besides.
const numbersColumn = "head.numbers"

// number is one of result.json.
type number struct {
	path  string // as noise[1].load
	value float64
}

// numbersOf are those of the text of result.json, but for its list of columns.
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
				if inner == npy.Folder { // which the columns are checked against
					all = all[:kept]
				}
			}
			_, err = d.Token() // its end
			return err
		}
		return nil
	}
	return all, walk("")
}

// columnOf is the column of numbers.
func columnOf(numbers []number) npy.Column {
	return npy.Column{Name: numbersColumn, Count: len(numbers), Floats: func(yield func(float64) bool) {
		for _, n := range numbers {
			if !yield(n.value) {
				return
			}
		}
	}}
}

// checkNumbers refuses a result.json with other numbers than the run left. An older psbench kept no
// column of them.
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
	for _, n := range numbers { // all, since the column is checked as a whole
		if was := next(); was != n.value && wrong == nil {
			wrong = fmt.Errorf("%s of %s is %v, but was %v when the run ended: somebody changed it", quote.Text(n.path),
				resultName, n.value, was)
		}
	}
	return wrong
}
