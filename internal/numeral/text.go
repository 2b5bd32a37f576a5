package numeral

import (
	"regexp"
	"strings"
)

// words are the strings of a text like JSON, which stay as they are, and what may be numbers or constants between them.
var words = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s\[\]{}:,"]+`)

// constants are those of Python.
var constants = map[string]string{"True": "true", "False": "false", "None": "null"}

// thousands is a number whose comma may separate thousands: JSON has no number that begins with 0 and a digit.
var thousands = regexp.MustCompile(`\d,0\d\d(?:\D|$)`)

// InJSON writes the numbers and constants of a text like JSON as JSON has them, and gives the place in the text of a
// place in what it returns. With a number as 1,000 the text stays as it is, and no JSON.
func InJSON(text string) (written string, place func(at int) int) {
	type grown struct{ from, by int }
	var out strings.Builder
	var all []grown
	end := 0
	if !Grouped(text) {
		for _, word := range words.FindAllStringIndex(text, -1) {
			out.WriteString(text[end:word[0]])
			end = word[1]
			plain := inJSON(text[word[0]:end])
			out.WriteString(plain)
			if by := len(plain) - (end - word[0]); by != 0 {
				all = append(all, grown{out.Len(), by})
			}
		}
	}
	out.WriteString(text[end:])
	return out.String(), func(at int) int {
		from := at
		for _, g := range all {
			if at >= g.from {
				from -= g.by
			}
		}
		return from
	}
}

func inJSON(word string) string {
	if constant, is := constants[word]; is {
		return constant
	}
	if number, err := JSON(word); err == nil {
		return number
	}
	return word
}

// Grouped says whether a list has a number as 1,000, which could be two.
func Grouped(list string) bool { return thousands.MatchString(list) }
