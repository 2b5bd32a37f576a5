package data

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/sdk"
)

// idxFile returns a file: a magic number, the sizes, then the items.
func idxFile(items string, header ...uint32) string {
	var out []byte
	for _, n := range header {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return string(out) + items
}

var (
	twoImages = idxFile("\x00\x33\xff\x00\x66\xcc", 0x803, 2, 1, 3)
	twoLabels = idxFile("\x04\x09", 0x801, 2)
)

func loadIdx(t *testing.T, files map[string]string, s IdxSettings) (*sdk.Samples, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := NewIdx(s, sdk.DataEnv{})
	if err != nil {
		return nil, err
	}
	return d.Load()
}

func TestIdx(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(twoImages)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, images := range []string{twoImages, packed.String()} {
		t.Run(images, func(t *testing.T) {
			got, err := loadIdx(t, map[string]string{"i": images, "l": twoLabels,
				"ti": idxFile("\xff\x00\x00", 0x803, 1, 1, 3), "tl": idxFile("\x01", 0x801, 1)},
				IdxSettings{Images: "i", Labels: "l", HeldOutImages: "ti", HeldOutLabels: "tl", HeldOut: 0.5})
			if err != nil {
				t.Fatal(err)
			}
			want := sdk.Batch{Features: []float32{0, 0.2, 1, 0, 0.4, 0.8}, Targets: []int64{4, 9}}
			if d := cmp.Diff(want, got.Batch); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(sdk.Batch{Features: []float32{1, 0, 0}, Targets: []int64{1}}, got.HeldOut.Batch); d != "" {
				t.Error(d)
			}
			for position, want := range map[int]string{-1: "l, label 2", 2: "i, image 2, row 1, column 3"} {
				if origin := got.Origin(1, position); origin != want {
					t.Errorf("position %d comes from %s, want %s", position, origin, want)
				}
			}
		})
	}
}

func TestIdxHoldsOutAShare(t *testing.T) {
	files := map[string]string{"i": idxFile("abcdefg", 0x803, 7, 1, 1),
		"l": idxFile("\x00\x01\x02\x03\x04\x05\x06", 0x801, 7)}
	got, err := loadIdx(t, files, IdxSettings{Images: "i", Labels: "l", HeldOut: 0.33})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]int64{{0, 1, 3, 4, 6}, {2, 5}}, [][]int64{got.Targets, got.HeldOut.Targets}); d != "" {
		t.Error(d)
	}
	if origin := got.HeldOut.Origin(1, -1); origin != "l, label 6" {
		t.Errorf("the second label held out comes from %s", origin)
	}
	if got, err := loadIdx(t, files, IdxSettings{Images: "i", Labels: "l"}); err != nil || got.HeldOut != nil ||
		got.Size() != 7 {
		t.Errorf("without a share there are %v and %v", got, err)
	}
}

func TestIdxErrors(t *testing.T) {
	both := IdxSettings{Images: "i", Labels: "l"}
	for _, c := range []struct {
		images, labels string
		settings       IdxSettings
		want           string
	}{
		{"", "", IdxSettings{Images: "i"}, `setting images is "i" and setting labels is "": give both or none`},
		{"", "", IdxSettings{HeldOutLabels: "l"},
			`setting held_out_images is "" and setting held_out_labels is "l": give both or none`},
		{"", "", IdxSettings{HeldOut: 2}, "setting held_out is 2 but must be from 0 to 0.5"},
		{twoImages, twoLabels, IdxSettings{Images: "away", Labels: "l"}, "data file away does not exist"},
		{twoImages, twoLabels, IdxSettings{HeldOutImages: "i", HeldOutLabels: "l"},
			"data file i has images of 1 x 3 pixels but digits-images-idx3-ubyte.gz (built in) of 28 x 28; they must be of the same size"},
		{twoLabels, twoImages, both,
			"data file i: the magic number is 0x00000801 but must be 0x00000803, that of images in bytes"},
		{twoImages, twoImages, both,
			"data file l: the magic number is 0x00000803 but must be 0x00000801, that of labels in bytes"},
		{"", twoLabels, both, "data file i: it ends after 0 bytes but its header has 16"},
		{twoImages[:15], twoLabels, both, "data file i: it ends after 15 bytes but its header has 16"},
		{twoImages[:20], twoLabels, both, "data file i: it ends after 20 bytes but its header announces 22: 2 images"},
		{twoImages + "x", twoLabels, both,
			"data file i: there are more than the 22 bytes that its header announces: 2 images"},
		{twoImages, twoLabels[:8], both, "data file l: it ends after 8 bytes but its header announces 10: 2 labels"},
		{twoImages, idxFile("\x01", 0x801, 1), both,
			"data file i has 2 images but l has 1 labels; there must be one for each image"},
		{idxFile("", 0x803, 2, 0, 3), twoLabels, both,
			"data file i: dimension 2 of the images is 0; all sizes must be 1 or more and their product at most 2147483648"},
		{idxFile("", 0x803, math.MaxUint32, 1, 1), twoLabels, both,
			"data file i: dimension 1 of the images is 4294967295; all sizes must be 1 or more and their product at most 2147483648"},
		{idxFile("", 0x803, 1<<16, 1<<10, 1<<10), twoLabels, both,
			"data file i: dimension 3 of the images is 1024; all sizes must be 1 or more and their product at most 2147483648"},
		{idxFile("x", 0x803, 1<<15, 1<<8, 1<<8), twoLabels, both,
			"data file i: it ends after 17 bytes but its header announces 2147483664: 32768 images"},
		{"\x1f\x8b\x08", twoLabels, both, "data file i: the gzip stream ends too early"},
	} {
		t.Run(c.images, func(t *testing.T) {
			if _, err := loadIdx(t, map[string]string{"i": c.images, "l": c.labels}, c.settings); err == nil ||
				err.Error() != c.want {
				t.Errorf("%q and %q give\n  %v\nwant\n  %s", c.images, c.labels, err, c.want)
			}
		})
	}
}

// Each digit occurs in the built-in sample. Choosing the nearest mean image classifies most held-out images
// correctly.
func TestDigitSample(t *testing.T) {
	d, err := NewIdx(DefaultIdx, sdk.DataEnv{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	const pixels = 28 * 28
	if got.Size() != 1800 || got.HeldOut.Size() != 200 || len(got.Features) != 1800*pixels {
		t.Fatalf("%d images are trained on and %d held out, %d pixels", got.Size(), got.HeldOut.Size(),
			len(got.Features))
	}
	var means [10][pixels]float64
	var counts [10]float64
	for i, label := range got.Targets {
		counts[label]++
		for p, v := range got.Features[i*pixels : (i+1)*pixels] {
			means[label][p] += float64(v)
		}
	}
	right := 0
	for i, label := range got.HeldOut.Targets {
		best, nearest := math.Inf(1), 0
		for digit := range means {
			distance := 0.0
			for p, v := range got.HeldOut.Features[i*pixels : (i+1)*pixels] {
				d := float64(v) - means[digit][p]/counts[digit]
				distance += d * d
			}
			if distance < best {
				best, nearest = distance, digit
			}
		}
		if int64(nearest) == label {
			right++
		}
	}
	if right < 120 || right == 200 {
		t.Errorf("the nearest mean image tells %d of 200 digits", right)
	}
	for digit, n := range counts {
		if n < 130 {
			t.Errorf("digit %d occurs %v times", digit, n)
		}
	}
}

// For any file, the reader returns what the header describes or an error.
func FuzzIdx(f *testing.F) {
	for _, s := range []string{twoImages, twoLabels, "", twoImages[:17], twoImages + "x",
		idxFile("", 0x803, 1<<31, 1, 1), "\x1f\x8b", "\x28\xb5\x2f\xfd"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := datafile.InMemory("f", content)
		sizes, pixels, err := readIdx(file, imagesMagic, "images")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "data file f: ") {
				t.Errorf("the error does not say where: %v", err)
			}
			return
		}
		if len(sizes) != 3 || len(pixels) != sizes[0]*sizes[1]*sizes[2] {
			t.Errorf("there are %d pixels in sizes %v", len(pixels), sizes)
		}
	})
}
