package micro

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/psbench/psbench/internal/bytesize"
)

func FuzzParseSizes(f *testing.F) {
	for _, list := range []string{"4K,64K,1M", " 1 ,2GiB", ",", "4K,,1M"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		sizes, err := ParseSizes(list)
		if err != nil {
			return
		}
		written := ""
		for i, size := range sizes {
			if size < 1 {
				t.Fatalf("%q has the size %d", list, size)
			}
			if i > 0 {
				written += ","
			}
			written += bytesize.Format(size)
		}
		if again, err := ParseSizes(written); err != nil || !slices.Equal(again, sizes) {
			t.Fatalf("%q became %q, which is read as %v, %v", list, written, again, err)
		}
	})
}

func TestSizesBetween(t *testing.T) {
	for _, c := range []struct {
		least, most, factor int
		want                []int
	}{
		{4, 4, 2, []int{4}},
		{4, 40, 2, []int{4, 8, 16, 32}},
		{4, 64, 4, []int{4, 16, 64}},
		{1 << 40, 1 << 62, 1 << 20, []int{1 << 40, 1 << 60}},
	} {
		t.Run(fmt.Sprint(c.least), func(t *testing.T) {
			if got, err := SizesBetween(c.least, c.most, c.factor); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("from %d to %d by %d: %v, %v", c.least, c.most, c.factor, got, err)
			}
		})
	}
	for i, c := range [][3]int{{8, 4, 2}, {4, 8, 1}, {4, 8, 0}, {4, 8, -2}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if got, err := SizesBetween(c[0], c[1], c[2]); err == nil {
				t.Errorf("from %d to %d by %d: %v", c[0], c[1], c[2], got)
			}
		})
	}
}
