package psbench_test

import (
	"fmt"
	"image"
	"image/color"
	_ "image/png" // for image.Decode
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// cellColour matches a cell's colour in the theme. The theme lists the colours of light pages first.
var cellColour = regexp.MustCompile(`--cell-\d: #([0-9a-f]{6});`)

// Screenshots in the docs show cells in the page's colours. A reduced palette in the image file would change them.
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

// coloursOf returns the set of colours in an image.
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
