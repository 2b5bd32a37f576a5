package screen

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

// Numbers are formatted as on the page.
func TestNumber(t *testing.T) {
	data, err := os.ReadFile("../../web/testdata/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Value float64
		Text  string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(strconv.FormatFloat(c.Value, 'g', -1, 64), func(t *testing.T) {
			if got := Number(c.Value); got != c.Text {
				t.Errorf("%q, not %q", got, c.Text)
			}
		})
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			if got := Number(x); got != "-" {
				t.Errorf("%v is %q", x, got)
			}
		})
	}
	if got := Significant(1234.56, 3); got != "1,235" {
		t.Errorf("with three digits it is %q", got)
	}
}
