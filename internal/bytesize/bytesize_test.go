package bytesize

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "4096": 4096, "4096B": 4096, "4K": 4096, "4k": 4096, "4KiB": 4096, "25M": 25 << 20, "1mib": 1 << 20,
		"2G": 2 << 30, "3GIB": 3 << 30,
		"+4K": 4096, " 4 K": 4096, "4.5K": 4608, "1.5 GiB": 3 << 29, "1e3": 1000, "1e6B": 1_000_000, "4.0": 4,
		".5k": 512, "1_000": 1000,
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := Parse(text); err != nil || got != want {
				t.Errorf("%q is %d, %v, want %d", text, got, err, want)
			}
		})
	}
	for _, text := range []string{
		"", "0", "K", "-4K", "4.1K", "1.5", "4KB", "4BB", "4KK", "4KiBiB", "4MK", "0x10", "1,000", "1e-999999999",
		"0.3333333333333333333333333333333333333333333K", "KB", "B", "9999999999999999999", "9223372036854775807K",
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := Parse(text); err == nil {
				t.Errorf("%q is read as %d", text, got)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for size, want := range map[int]string{
		4: "4B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 25 << 20: "25MiB", 3 << 29: "1536MiB", 1 << 30: "1GiB",
	} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if got := Format(size); got != want {
				t.Errorf("%d is %s, want %s", size, got, want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1<<40).Draw(t, "size") << rapid.IntRange(0, 20).Draw(t, "shift")
		if got, err := Parse(Format(size)); err != nil || got != size {
			t.Errorf("%d is written %s and read as %d, %v", size, Format(size), got, err)
		}
	})
}
