package psbench_test

import (
	"fmt"
	"image"
	"image/color"
	_ "image/png" // what the pictures are
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// cellColour is a colour of a cell, of which the theme has those of light pages first.
var cellColour = regexp.MustCompile(`--cell-\d: #([0-9a-f]{6});`)

// Cells on pictures of pages have the colours that pages have, which fewer colours in the file would change.
func TestPicturesOfPagesHaveTheirColours(t *testing.T) {
	theme, err := os.ReadFile("web/src/theme.css")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[color.NRGBA]bool{}
	for _, found := range cellColour.FindAllSubmatch(theme, -1)[:8] {
		c := color.NRGBA{A: 0xff}
		if _, err := fmt.Sscanf(string(found[1]), "%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
			t.Fatal(err)
		}
		wanted[c] = true
	}
	paths, err := filepath.Glob("docs/examples/*.png")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no pictures: %v", err)
	}
	for _, path := range paths {
		seen := coloursOf(t, path)
		found := 0
		for c := range wanted {
			if seen[c] {
				found++
			}
		}
		if found < 4 {
			t.Errorf("%s has %d of the 8 colours of cells, but shows 4 cells or more", path, found)
		}
	}
}

// coloursOf are those of the pixels of a picture.
func coloursOf(t *testing.T, path string) map[color.NRGBA]bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	picture, _, err := image.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	seen := map[color.NRGBA]bool{}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			seen[color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)] = true
		}
	}
	return seen
}
