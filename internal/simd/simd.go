// Package simd says which vector instructions the float32 kernels of this process use.
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

// The levels. Each includes the ones before it.
const (
	Portable Level = iota // Go alone
	AVX2                  // AVX2 and FMA, 8 float32 at a time
	AVX512                // AVX-512 F, VL, BW and DQ, and BMI2, 16 float32 at a time
)

// Variable names the environment variable that forces a level.
const Variable = "PSBENCH_SIMD"

var names = [...]string{Portable: "portable", AVX2: "avx2", AVX512: "avx512"}

func (l Level) String() string { return names[l] }

// Parse returns the level of a name.
func Parse(name string) (Level, error) {
	for l, n := range names {
		if n == name {
			return Level(l), nil
		}
	}
	return Portable, fmt.Errorf("%s is %s but must be one of %s", Variable, quote.String(name),
		strings.Join(names[:], ", "))
}

// Available lists the levels of this machine, the lowest first.
func Available() []Level {
	var out []Level
	for l := Portable; l <= best(); l++ {
		out = append(out, l)
	}
	return out
}

// Chosen is the level that this process uses: the one that the environment variable
// names, else the machine's best. A name that is not known, or that the machine does not
// have, is an error; the level is Portable then.
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
