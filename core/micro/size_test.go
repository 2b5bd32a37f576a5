package micro

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "4096": 4096, "4096B": 4096, "4K": 4096, "4k": 4096, "4KiB": 4096, "25M": 25 << 20, "1mib": 1 << 20, "2G": 2 << 30, "3GIB": 3 << 30,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "K", "-4K", "+4K", "4 K", "4.5K", "4KB", "4BB", "4KK", "4KiBiB", "4MK", "0x10", "1e3", "9999999999999999999", "9223372036854775807K",
	} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for size, want := range map[int]string{
		4: "4B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 25 << 20: "25MiB", 3 << 29: "1536MiB", 1 << 30: "1GiB",
	} {
		if got := FormatSize(size); got != want {
			t.Errorf("%d is %s, want %s", size, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1<<40).Draw(t, "size") << rapid.IntRange(0, 20).Draw(t, "shift")
		if got, err := ParseSize(FormatSize(size)); err != nil || got != size {
			t.Errorf("%d is written %s and read as %d, %v", size, FormatSize(size), got, err)
		}
	})
}

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
			written += FormatSize(size)
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
		if got, err := SizesBetween(c.least, c.most, c.factor); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d by %d: %v, %v", c.least, c.most, c.factor, got, err)
		}
	}
	for _, c := range [][3]int{{8, 4, 2}, {4, 8, 1}, {4, 8, 0}, {4, 8, -2}} {
		if got, err := SizesBetween(c[0], c[1], c[2]); err == nil {
			t.Errorf("from %d to %d by %d: %v", c[0], c[1], c[2], got)
		}
	}
}
