// Package simd chooses the vector instructions that the float32 kernels of this process use.
package simd

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/psbench/psbench/internal/quote"
)

// Level is a set of vector instructions.
type Level int

// The levels. Each level includes the previous ones.
const (
	Portable Level = iota // plain Go
	AVX2                  // AVX2 and FMA, 8 float32 at a time
	AVX512                // AVX-512 F, VL, BW and DQ, and BMI2, 16 float32 at a time
)

// Variable names the environment variable that forces a level.
const Variable = "PSBENCH_SIMD"

var names = [...]string{Portable: "portable", AVX2: "avx2", AVX512: "avx512"}

func (l Level) String() string { return names[l] }

// Parse returns the level with this name.
func Parse(name string) (Level, error) {
	for l, n := range names {
		if n == name {
			return Level(l), nil
		}
	}
	return Portable, fmt.Errorf("%s is %s but must be one of %s", Variable, quote.String(name),
		strings.Join(names[:], ", "))
}

// Available lists the levels of this machine, lowest first.
func Available() []Level {
	var out []Level
	for l := Portable; l <= best(); l++ {
		out = append(out, l)
	}
	return out
}

// Chosen returns the level that this process uses. The environment variable names it; otherwise it is the machine's
// best. An unknown or unsupported name is an error, with the level Portable.
var Chosen = sync.OnceValues(func() (Level, error) { return choose(os.Getenv(Variable), best()) })

func choose(name string, best Level) (Level, error) {
	if name == "" {
		return best, nil
	}
	l, err := Parse(name)
	if err == nil && l > best {
		return Portable, fmt.Errorf("%s is %s but this machine has %s at best", Variable, name, best)
	}
	return l, err
}
