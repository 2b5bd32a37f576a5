package clicklog

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/psbench/psbench/internal/numeral"
)

// parser reads the columns of a line. parser only detects malformed lines; explain finds the reason.
type parser struct {
	separator byte
	log       bool // numbers become log(1+max(x, 0))
	index     bool // categories are row numbers and not hashed
	rows      [Categories]uint64
}

// mixers turn one hash function into a separate hash function for each table. The mixers multiply by different odd
// numbers and use the high bits of the product (Dietzfelbinger and others, "A reliable randomized algorithm for the
// closest-pair problem", 1997).
var mixers = func() (m [Categories]uint64) {
	for k := range m {
		m[k] = (2*uint64(k) + 1) * 0x9E3779B97F4A7C15 // #nosec G115 -- k >= 0
	}
	return m
}()

// logs caches the logarithms of the most frequent numbers.
var logs = func() (l [1024]float32) {
	for x := range l {
		l[x] = logOf(float64(x))
	}
	return l
}()

func logOf(x float64) float32 { return float32(math.Log1p(max(x, 0))) }

// parse writes the numbers and the categories' rows of a line and returns its label. parse returns false if the
// line is malformed; the written values are then invalid.
func (p *parser) parse(line []byte, numbers *[Numbers]float32, rows *[Categories]int64) (label int64, ok bool) {
	at := 2
	if len(line) >= 2 && line[0]&^1 == '0' && line[1] == p.separator {
		label = int64(line[0] - '0')
	} else {
		end := fieldEnd(line, 0, p.separator)
		if label, ok = parseLabel(string(line[:end])); !ok || end == len(line) {
			return 0, false
		}
		at = end + 1
	}
	for k := range numbers {
		end, ok := p.number(line, at, &numbers[k])
		if !ok || end == len(line) {
			return 0, false
		}
		at = end + 1
	}
	for k := range rows {
		end := fieldEnd(line, at, p.separator)
		if (end == len(line)) != (k == Categories-1) {
			return 0, false
		}
		if p.index {
			if rows[k], ok = parseIndex(line[at:end], p.rows[k]); !ok {
				return 0, false
			}
		} else {
			rows[k] = hash(line[at:end], k, p.rows[k])
		}
		at = end + 1
	}
	return label, true
}

// number reads the number that begins at byte at of the line, and returns its end.
func (p *parser) number(line []byte, at int, to *float32) (end int, ok bool) {
	start, negative := at, at < len(line) && line[at] == '-'
	if negative {
		start, at = start+1, at+1
	}
	value := uint64(0)
	for at < len(line) && line[at]-'0' <= 9 {
		value = value*10 + uint64(line[at]-'0')
		at++
	}
	whole := at == len(line) || line[at] == p.separator
	switch digits := at - start; {
	case !whole || digits > 18 || digits == 0 && negative:
		return p.decimal(line, start, negative, to)
	case !p.log:
		*to = float32(value)
		if negative {
			*to = -*to
		}
	case negative:
		*to = 0
	case value < uint64(len(logs)):
		*to = logs[value]
	default:
		*to = logOf(float64(value))
	}
	return at, true
}

// decimal reads a number that is not a plain integer.
func (p *parser) decimal(line []byte, start int, negative bool, to *float32) (end int, ok bool) {
	end = fieldEnd(line, start, p.separator)
	if negative {
		start--
	}
	value, err := numeral.Float(numeral.Truth(string(line[start:end])), 32)
	if err != nil {
		return end, false
	}
	*to = float32(value)
	if p.log {
		*to = logOf(value)
	}
	return end, true
}

// hash returns the row of a category's text in a table: the whole part of h*rows/2^64. The value h is XXH64 of the
// text with seed 0, times the table's mixer, modulo 2^64.
func hash(text []byte, table int, rows uint64) int64 {
	row, _ := bits.Mul64(xxhash.Sum64(text)*mixers[table], rows)
	return int64(row) // #nosec G115 -- below rows
}

// parseIndex reads a row number of a table.
func parseIndex(text []byte, rows uint64) (row int64, ok bool) {
	value := uint64(0)
	for _, c := range text {
		if c-'0' > 9 || len(text) > 18 {
			value, err := numeral.Uint(string(text))
			return int64(value), err == nil && value < rows // #nosec G115 -- rows are counted by an int
		}
		value = value*10 + uint64(c-'0')
	}
	return int64(value), len(text) > 0 && value < rows // #nosec G115 -- 18 digits
}

// parseLabel reads a label that is not a plain 0 or 1.
func parseLabel(text string) (label int64, ok bool) {
	label, err := numeral.Int(numeral.Truth(text))
	return label, err == nil && label&^1 == 0
}

// fieldEnd returns the end of the field that begins at byte at of the line. fieldEnd examines eight bytes at once:
// it XORs them with eight separators and looks for the lowest zero byte. In the usual bit expression for zero bytes,
// the lowest top bit that is set marks that byte.
func fieldEnd(line []byte, at int, separator byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	separators := uint64(separator) * ones
	for ; at+8 <= len(line); at += 8 {
		x := binary.LittleEndian.Uint64(line[at:]) ^ separators
		if zero := (x - ones) &^ x & tops; zero != 0 {
			return at + bits.TrailingZeros64(zero)/8
		}
	}
	for at < len(line) && line[at] != separator {
		at++
	}
	return at
}
