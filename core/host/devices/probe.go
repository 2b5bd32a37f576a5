package devices

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/internal/quote"
)

// Argument as the first argument makes the executable ask the driver and print the report. The second argument is the
// number of devices, counted from the first, whose free memory is included.
const Argument = "__devices"

// answer is what the child process prints: a list, or the reason why there is none.
type answer struct {
	List  *List  `json:"list,omitempty"`
	Error string `json:"error,omitempty"`
}

// Child is the main function of the child process that asks the driver.
func Child() int {
	ranks, err := strconv.Atoi(strings.Join(os.Args[2:], " "))
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "psbench: %s has %q after it but must have a number of devices\n", Argument,
			os.Args[2:])
		return 2
	}
	list, err := ask(ranks)
	a := answer{List: list}
	if err != nil {
		a.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "psbench:", err)
		return 1
	}
	return 0
}

// patience limits how long the driver may take. If no daemon keeps the devices awake, waking many devices takes about
// 10 s.
const patience = 60 * time.Second

// Probe asks the driver in a child process. Probe also asks for the free memory of the devices that this many ranks
// use. To measure the free memory, Probe creates a context on each of these devices for a moment.
func Probe(ctx context.Context, ranks int) (*List, error) { return probe(ctx, patience, ranks) }

// probe does the same as Probe with a given time limit.
func probe(ctx context.Context, patience time.Duration, ranks int) (*List, error) {
	out, err := executable.Output(ctx, patience, "/proc/self/exe", Argument, strconv.Itoa(ranks))
	if err != nil {
		return nil, fmt.Errorf(
			"the process that asks the CUDA driver for its devices %w: check the driver, for example with nvidia-smi",
			err)
	}
	var a answer
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	switch err := d.Decode(&a); {
	case err == nil && a.Error != "" && a.List == nil:
		return nil, errors.New(a.Error)
	case err == nil && a.Error == "" && a.List != nil && a.List.sound():
		return a.List, nil
	default:
		return nil,
			fmt.Errorf("the process that asks the CUDA driver for its devices printed %s, which is not a list of devices: look for messages from the driver",
				quote.String(strings.TrimSpace(string(out))))
	}
}

// sound reports whether the list is valid: devices are in the order of their ordinals, and peers are in the list.
func (l *List) sound() bool {
	for i, d := range l.Devices {
		if d.Ordinal != i {
			return false
		}
		for _, p := range d.Peers {
			if p < 0 || p >= len(l.Devices) || p == i {
				return false
			}
		}
	}
	return len(l.Devices) > 0
}
