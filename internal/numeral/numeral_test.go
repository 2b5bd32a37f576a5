package numeral

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		text, want string
		err        error
	}{
		{"5", "5", nil}, {"+5", "5", nil}, {"-5", "-5", nil}, {" 5\t", "5", nil}, {"007", "7", nil},
		{"1.0", "1", nil}, {"5.", "5", nil}, {"0.0", "0", nil}, {".0", "0", nil}, {"-0", "0", nil}, {"-0.0", "0", nil},
		{"1e3", "1000", nil}, {"1E+3", "1000", nil}, {"12.5e1", "125", nil}, {"100e-2", "1", nil},
		{"0e999999999999999999999", "0", nil},
		{"1_000", "1000", nil}, {"1_0.0_0", "10", nil}, {"18446744073709551615", "18446744073709551615", nil},
		{"2.5", "", ErrFraction}, {".1", "", ErrFraction}, {"1e-5", "", ErrFraction},
		{"3.00000000000000000001", "", ErrFraction}, {"1e-999999999999999999999", "", ErrFraction},
		{"1e400", "", ErrRange}, {"1e999999999999999999999", "", ErrRange},
		{"1" + strings.Repeat("0", 20), "", ErrRange},
		{"1,000", "", ErrComma}, {"1,5", "", ErrComma}, {"1.000,5", "", ErrComma}, {"-1,5e3", "", ErrComma},
		{"", "", ErrSyntax}, {".", "", ErrSyntax}, {"+", "", ErrSyntax}, {"--5", "", ErrSyntax}, {"1e", "", ErrSyntax},
		{"e5", "", ErrSyntax}, {"1 000", "", ErrSyntax},
		{"0x10", "", ErrSyntax}, {"NaN", "", ErrSyntax}, {"inf", "", ErrSyntax}, {"1__0", "", ErrSyntax},
		{"_1", "", ErrSyntax}, {"1_", "", ErrSyntax}, {"1e5.0", "", ErrSyntax},
		{"True", "", ErrSyntax}, {",", "", ErrSyntax}, {"a,1", "", ErrSyntax},
	} {
		t.Run(c.text, func(t *testing.T) {
			if got, err := Whole(c.text); got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%q: it is %q and %v, want %q and %v", c.text, got, err, c.want, c.err)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	if n, err := Int("-9223372036854775808.0"); n != math.MinInt64 || err != nil {
		t.Error(n, err)
	}
	if _, err := Int("9223372036854775808"); !errors.Is(err, ErrRange) {
		t.Error(err)
	}
	if n, err := Uint("1.8446744073709551615e19"); n != math.MaxUint64 || err != nil {
		t.Error(n, err)
	}
	if _, err := Uint("18446744073709551616"); !errors.Is(err, ErrRange) {
		t.Error(err)
	}
	if _, err := Uint("-1"); !errors.Is(err, ErrNegative) {
		t.Error(err)
	}
	if n, err := Float("+.1", 64); n != .1 || err != nil {
		t.Error(n, err)
	}
	if _, err := Float("1e39", 32); !errors.Is(err, ErrRange) {
		t.Error(err)
	}
	if Truth(" True") != "1" || Truth("FALSE") != "0" || Truth("t") != "t" {
		t.Error("Truth")
	}
}

// Every number that is read agrees with exact arithmetic, and its JSON form has the same value.
func FuzzNumeral(f *testing.F) {
	for _, seed := range []string{"1.0", "+5", ".1", "5.", "1e3", "1_000", "1,000", "-0.0e-0", "12.5e1", "1e99999",
		"0x1p4", "NaN", " 7 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		written, err := JSON(text)
		whole, wholeErr := Whole(text)
		if err != nil {
			if wholeErr == nil {
				t.Fatalf("%q is no number but the whole %q", text, whole)
			}
			return
		}
		if !json.Valid([]byte(written)) {
			t.Fatalf("%q becomes %q", text, written)
		}
		if v, err := Float(text, 64); err == nil {
			if want, _ := strconv.ParseFloat(written, 64); v != want {
				t.Fatalf("%q is %v, want %v", text, v, want)
			}
		}
		if at := strings.IndexByte(written, 'e'); len(written) > 100 || at >= 0 && len(written)-at > 5 {
			return // exact arithmetic would take too long
		}
		exact, ok := new(big.Rat).SetString(written)
		if !ok {
			t.Fatalf("%q becomes %q", text, written)
		}
		switch {
		case wholeErr == nil && (!exact.IsInt() || exact.Num().String() != whole):
			t.Fatalf("%q is the whole number %s, want %v", text, whole, exact)
		case errors.Is(wholeErr, ErrFraction) && exact.IsInt():
			t.Fatalf("%q is not whole, but %v is", text, exact)
		case errors.Is(wholeErr, ErrRange) && exact.Num().IsInt64():
			t.Fatalf("%q is too large, but %v is not", text, exact)
		}
	})
}
