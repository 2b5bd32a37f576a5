package launchers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// reader reads environment variables for a detector and records them.
type reader struct {
	System
	variables map[string]string
	read      []Variable
}

func newReader(s System) *reader {
	r := &reader{System: s, variables: make(map[string]string, len(s.Environ))}
	for _, pair := range s.Environ {
		name, value, _ := strings.Cut(pair, "=")
		r.variables[name] = value
	}
	return r
}

// text returns the value of a variable. An empty variable counts as not set.
func (r *reader) text(name string) (value string, set bool) {
	value = r.variables[name]
	if value != "" {
		r.note(name, value)
	}
	return value, value != ""
}

// first returns the first of the named variables that is set.
func (r *reader) first(names ...string) (name, value string) {
	for _, name := range names {
		if value, set := r.text(name); set {
			return name, value
		}
	}
	return "", ""
}

// note records a value that was read, without duplicates.
func (r *reader) note(name, value string) {
	if v := (Variable{name, value}); !slices.Contains(r.read, v) {
		r.read = append(r.read, v)
	}
}

// most limits sizes and ranks. No launcher has more tasks.
const most = 1 << 24

// number returns the value of a numeric variable, or -1 if the variable is not set.
func (r *reader) number(name string) (int, error) {
	value, set := r.text(name)
	if !set {
		return -1, nil
	}
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil || n > most || strconv.FormatUint(n, 10) != value {
		return -1, fmt.Errorf("%s is %s but must be a whole number from 0 to %d", name, quote.String(value), most)
	}
	return int(n), nil // #nosec G115 -- at most 1<<24
}

// needed returns the value of a numeric variable. needed returns an error if the variable is not set, because the
// launcher sets it whenever it sets the variable because.
func (r *reader) needed(name, because string) (int, error) {
	n, err := r.number(name)
	if err == nil && n < 0 {
		err = fmt.Errorf("%s is set but %s is not: a launcher sets both", because, name)
	}
	return n, err
}

// place builds a place from three variables. The variable local may be unset.
func (r *reader) place(size, rank, local string) (*Place, error) {
	p := &Place{Host: r.Host}
	var err error
	if p.Size, err = r.needed(size, rank); err != nil {
		return nil, err
	}
	if p.Rank, err = r.needed(rank, size); err != nil {
		return nil, err
	}
	if p.Size == 0 {
		return nil, fmt.Errorf("%s is 0 but must be 1 or more", size)
	}
	p.From = Sources{Size: size, Rank: rank}
	if p.Local, err = r.number(local); p.Local >= 0 {
		p.From.Local = local
	}
	return p, err
}

// crowd records in p how many tasks run on this host. crowd ignores an invalid count.
func (r *reader) crowd(p *Place, variable string) {
	if n := r.count(variable); n > 0 && (p.Size == 0 || n <= p.Size) {
		p.Here, p.From.Here = n, variable
	}
}

// named sets the host of p to the launcher's name for this host, if the variable is set.
func (r *reader) named(p *Place, variable string) *Place {
	if name, set := r.text(variable); set {
		p.Host, p.From.Host = name, variable
	}
	return p
}
