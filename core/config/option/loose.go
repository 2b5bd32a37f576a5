package option

import (
	"regexp"

	"github.com/psbench/psbench/internal/numeral"
)

// words are the strings of a text like JSON, which stay as they are, and what may be numbers or constants between them.
var words = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s\[\]{}:,"]+`)

// constants are those of Python.
var constants = map[string]string{"True": "true", "False": "false", "None": "null"}

// asJSON writes numbers and constants that JSON does not have as JSON has them.
func asJSON(text string) string {
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if constant, is := constants[word]; is {
			return constant
		}
		if number, err := numeral.JSON(word); err == nil {
			return number
		}
		return word
	})
}
