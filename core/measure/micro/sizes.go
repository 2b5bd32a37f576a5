package micro

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/internal/bytesize"
)

// maxSizes is the largest number of sizes in one run.
const maxSizes = 100

// ParseSizes parses a list of sizes, separated by commas.
func ParseSizes(list string) ([]int, error) {
	var sizes []int
	for item := range strings.SplitSeq(list, ",") {
		size, err := bytesize.Parse(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	if len(sizes) > maxSizes {
		return nil, fmt.Errorf("has %d sizes but may have at most %d", len(sizes), maxSizes)
	}
	return sizes, nil
}

// SizesBetween lists the sizes least, least*factor, least*factor² and so on, up to most.
func SizesBetween(least, most, factor int) ([]int, error) {
	switch {
	case least > most:
		return nil, fmt.Errorf("--min is %s but --max is only %s", bytesize.Format(least), bytesize.Format(most))
	case factor < 2:
		return nil, fmt.Errorf("--factor is %d but must be 2 or more", factor)
	}
	sizes := []int{least}
	for size := least; size <= most/factor; {
		size *= factor
		sizes = append(sizes, size)
	}
	return sizes, nil
}
