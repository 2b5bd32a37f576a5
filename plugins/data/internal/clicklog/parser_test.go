package clicklog

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/sdk"
)

// The hash is the standard XXH64. The test uses public test vectors with seed 0 and recomputes the row with
// integers of any length.
func TestHash(t *testing.T) {
	for text, want := range map[string]uint64{"": 0xEF46DB3751D8E999, "a": 0xD24EC4F1A98C6E5B,
		"abc": 0x44BC2CF5AD770999} {
		t.Run(text, func(t *testing.T) {
			if got := xxhash.Sum64String(text); got != want {
				t.Errorf("XXH64 of %q is %#x, want %#x", text, got, want)
			}
		})
	}
	two64 := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, c := range []struct {
		text        string
		table, rows int64
	}{{"", 0, 1}, {"", 25, 1000}, {"68fd1e64", 3, 1 << 40}, {"68fd1e64", 4, 1 << 40}, {"abc", 7, 3}} {
		t.Run(c.text, func(t *testing.T) {
			h := new(big.Int).SetUint64(xxhash.Sum64String(c.text))
			h.Mul(h, new(big.Int).SetUint64(0x9E3779B97F4A7C15))
			h.Mul(h, big.NewInt(2*c.table+1)).Mod(h, two64)
			want := h.Mul(h, big.NewInt(c.rows)).Div(h, two64).Int64()
			if got := hash([]byte(c.text), int(c.table), uint64(c.rows)); got != want {
				t.Errorf("%q is row %d of table %d with %d rows, want %d", c.text, got, c.table, c.rows, want)
			}
		})
	}
}

// Each row of a table gets its share of the texts.
func TestHashSpreads(t *testing.T) {
	for _, table := range []int{0, 1, 25} {
		t.Run(fmt.Sprint(table), func(t *testing.T) {
			const rows, texts = 100, 100_000
			var counts [rows]int
			for i := range texts {
				counts[hash([]byte(strconv.FormatInt(int64(i)*7919, 16)), table, rows)]++
			}
			for row, n := range counts {
				if n < texts/rows-200 || n > texts/rows+200 { // six standard deviations
					t.Errorf("row %d of table %d has %d texts of %d", row, table, n, texts)
				}
			}
		})
	}
}

func TestFieldEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SliceOfN(rapid.SampledFrom([]byte{'\t', '\n', 8, 10, 0x89, 0xff, 'a', 0}), 0, 40).Draw(t, "line")
		at := rapid.IntRange(0, len(line)).Draw(t, "at")
		want := len(line)
		if n := bytes.IndexByte(line[at:], '\t'); n >= 0 {
			want = at + n
		}
		if got := fieldEnd(line, at, '\t'); got != want {
			t.Fatalf("the field at %d of %q ends at %d, want %d", at, line, got, want)
		}
	})
}

// reference reads a line in the simplest way.
func reference(p *parser, line string) (label int64, numbers [Numbers]float32, rows [Categories]int64, ok bool) {
	fields := strings.Split(line, string(rune(p.separator)))
	label, err := numeral.Int(numeral.Truth(fields[0]))
	if len(fields) != columns || err != nil || label < 0 || label > 1 {
		return label, numbers, rows, false
	}
	for k, text := range fields[1 : 1+Numbers] {
		if text == "" {
			text = "0"
		}
		x, err := numeral.Float(numeral.Truth(text), 32)
		if err != nil {
			return label, numbers, rows, false
		}
		if p.log {
			x = math.Log1p(math.Max(x, 0))
		}
		numbers[k] = float32(x)
	}
	for k, text := range fields[1+Numbers:] {
		if !p.index {
			rows[k] = hash([]byte(text), k, p.rows[k])
			continue
		}
		row, err := numeral.Uint(text)
		if err != nil || row >= p.rows[k] {
			return label, numbers, rows, false
		}
		rows[k] = int64(row)
	}
	return label, numbers, rows, true
}

func FuzzLine(f *testing.F) {
	f.Add("0"+strings.Repeat("\t1", Numbers)+strings.Repeat("\t68fd1e64", Categories), false, false)
	f.Add("1"+strings.Repeat("\t-2.5e3", Numbers)+strings.Repeat("\t7", Categories), true, true)
	f.Add("1"+strings.Repeat("\t", Numbers+Categories), true, false)
	f.Add("0"+strings.Repeat("\t1234567890123456789012", Numbers)+strings.Repeat("\t000000000000000000000001",
		Categories), false, true)
	f.Add("0"+strings.Repeat("\t-", Numbers)+strings.Repeat("\tx", Categories), true, false)
	f.Add("0"+strings.Repeat("\tInf", Numbers)+strings.Repeat("\t9", Categories+1), false, true)
	f.Add("0"+strings.Repeat("\t0."+strings.Repeat("1", 80), Numbers)+strings.Repeat("\tx", Categories), true, false)
	f.Add("1.0"+strings.Repeat("\t+5.", Numbers)+strings.Repeat("\t1e0", Categories), true, true)
	f.Add("True"+strings.Repeat("\t.5", Numbers)+strings.Repeat("\t7.0", Categories), false, true)
	f.Add("", false, false)
	f.Add("1\t", true, true)
	f.Fuzz(func(t *testing.T, line string, log, index bool) {
		p := parser{separator: '\t', log: log, index: index}
		for k := range p.rows {
			p.rows[k] = 8
		}
		var numbers [Numbers]float32
		var rows [Categories]int64
		label, ok := p.parse([]byte(line), &numbers, &rows)
		wantLabel, wantNumbers, wantRows, wantOK := reference(&p, line)
		if ok != wantOK {
			t.Fatalf("%q is read: %v, want %v", line, ok, wantOK)
		}
		if err := p.explain([]byte(line)); (err == nil) != ok {
			t.Fatalf("%q is read: %v, and what is wrong with it: %v", line, ok, err)
		}
		if ok && (label != wantLabel || numbers != wantNumbers || rows != wantRows) {
			t.Fatalf("%q is\n%v %v %v, want\n%v %v %v", line, label, numbers, rows, wantLabel, wantNumbers, wantRows)
		}
	})
}

// Reading the text of a line back gives the original values.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]byte("\t,")).Draw(t, "separator")
		lineEnd := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
		want := sdk.Batch{Offsets: []int64{0}}
		var text []byte
		for range rapid.IntRange(1, 20).Draw(t, "samples") {
			label := rapid.Int64Range(0, 1).Draw(t, "label")
			want.Targets = append(want.Targets, label)
			text = strconv.AppendInt(text, label, 10)
			for range Numbers {
				x := rapid.OneOf(rapid.Float32Range(-1e30, 1e30),
					rapid.Map(rapid.Int32(), func(i int32) float32 { return float32(i) })).Draw(t, "number")
				want.Features = append(want.Features, x)
				text = strconv.AppendFloat(append(text, separator), float64(x), 'g', -1, 32)
			}
			for range Categories {
				row := rapid.Int64Range(0, 999).Draw(t, "row")
				want.Indices = append(want.Indices, row)
				text = strconv.AppendInt(append(text, separator), row, 10)
			}
			want.Offsets = append(want.Offsets, int64(len(want.Indices)))
			text = append(text, lineEnd...)
		}
		if rapid.Bool().Draw(t, "without the last line end") {
			text = bytes.TrimSuffix(text, []byte(lineEnd))
		}
		l := newLog(datafile.InMemory("log", text))
		l.LogNumbers, l.IndexRows = false, true
		var got sdk.Batch
		if err := l.Open().Read(&got, 100); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s: %s", text, d)
		}
	})
}
