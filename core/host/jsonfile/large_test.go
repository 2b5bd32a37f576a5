//go:build !race

package jsonfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	for size, want := range map[int64]string{
		MaxMiB << 20:     "",
		MaxMiB<<20 + 1:   "file " + path + " has more than 64 MiB, the most that psbench reads",
		MaxMiB << 20 * 2: "file " + path + " has more than 64 MiB, the most that psbench reads",
	} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			data, err := Read(path)
			if want == "" && (err != nil || int64(len(data)) != size) ||
				want != "" && (err == nil || err.Error() != want) {
				t.Errorf("of %d bytes %d were read, %v", size, len(data), err)
			}
		})
	}
	if _, err := Read("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("/dev/zero: %v", err)
	}
}

// If Decode searched the whole text for each key, this test would exceed its time limit.
func TestDecodeTakesLinearTime(t *testing.T) {
	const keys = 200_000
	var text strings.Builder
	text.WriteString("{")
	for i := range keys {
		fmt.Fprintf(&text, "\"key%d\": [%d], ", i, i)
	}
	text.WriteString("\"last\": []}")
	m, err := Map("f", []byte(text.String()))
	if err != nil || len(m) != keys+1 {
		t.Errorf("%d keys, %v", len(m), err)
	}
}
