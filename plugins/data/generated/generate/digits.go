package main

import (
	"encoding/binary"
	"math"

	"github.com/psbench/psbench/internal/splitmix"
)

const (
	digitSeed   = 1998
	digitImages = 2_000
	side        = 28 // pixels of an image
	glyphWidth  = 5  // in squares
	glyphHeight = 7
	square      = 2.6 // pixels per square of a glyph
)

var glyphs = [10][glyphHeight]string{
	{".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###."},
	{"..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."},
	{".###.", "#...#", "....#", "...#.", "..#..", ".#...", "#####"},
	{".###.", "#...#", "....#", "..##.", "....#", "#...#", ".###."},
	{"...#.", "..##.", ".#.#.", "#..#.", "#####", "...#.", "...#."},
	{"#####", "#....", "####.", "....#", "....#", "#...#", ".###."},
	{".###.", "#....", "#....", "####.", "#...#", "#...#", ".###."},
	{"#####", "....#", "...#.", "...#.", "..#..", "..#..", "..#.."},
	{".###.", "#...#", "#...#", ".###.", "#...#", "#...#", ".###."},
	{".###.", "#...#", "#...#", ".####", "....#", "....#", ".###."},
}

// digits generates images of digits and their labels, in the idx format. A digit is a glyph that is turned,
// sheared, stretched and shifted at random, on a background with specks.
func digits() (images, labels []byte) {
	for _, n := range []uint32{0x803, digitImages, side, side} {
		images = binary.BigEndian.AppendUint32(images, n)
	}
	for _, n := range []uint32{0x801, digitImages} {
		labels = binary.BigEndian.AppendUint32(labels, n)
	}
	draw := splitmix.New(digitSeed, 0)
	for range digitImages {
		digit := draw.IntN(len(glyphs))
		labels = append(labels, byte(digit)) // #nosec G115 -- 0 to 9
		images = appendImage(images, &glyphs[digit], draw)
	}
	return images, labels
}

func appendImage(images []byte, glyph *[glyphHeight]string, draw *splitmix.Stream) []byte {
	around := func(middle, spread float64) float64 { return middle + spread*(2*uniform(draw)-1) }
	sin, cos := math.Sincos(around(0, 0.12))
	shear, width, height := around(0, 0.12), square*around(1, 0.1), square*around(1, 0.1)
	left, top, ink := around(side/2, 2), around(side/2, 2), around(210, 45)
	for y := range side {
		for x := range side {
			covered := 0
			for sub := range 9 { // sample points within a pixel
				dx, dy := float64(x)+float64(sub%3)/3+1.0/6-left, float64(y)+float64(sub/3)/3+1.0/6-top
				u, v := dx*cos+dy*sin, dy*cos-dx*sin
				column, row := math.Floor((u+shear*v)/width+glyphWidth/2.0), math.Floor(v/height+glyphHeight/2.0)
				if column >= 0 && column < glyphWidth && row >= 0 && row < glyphHeight &&
					glyph[int(row)][int(column)] == '#' {
					covered++
				}
			}
			level := ink * float64(covered) / 9
			if uniform(draw) < 0.03 {
				level = math.Max(level, 160*uniform(draw))
			}
			images = append(images, byte(level))
		}
	}
	return images
}
