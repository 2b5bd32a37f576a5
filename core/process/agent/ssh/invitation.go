package ssh

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/simd"
)

// Invitation is the data for an agent, sent as one line of JSON.
type Invitation struct {
	Secret []byte `json:"secret"` // used for this run only
	Rank   int    `json:"rank"`
	Size   int    `json:"size"`
	// TimeoutS is how long the core may be silent before the agent ends, in seconds.
	TimeoutS int `json:"timeout_s"`
	// Interface, Registry and NoUserRegistry are the values of the core's options with the same names.
	Interface      string   `json:"interface,omitempty"`
	Registry       []string `json:"registry,omitempty"`
	NoUserRegistry bool     `json:"no_user_registry,omitempty"`
	// CUDA means that the run has CUDA ranks, so the agent must report how many devices its host has.
	CUDA bool `json:"cuda,omitempty"`
	// Variables holds the environment variables of the core that Carried selects.
	Variables []string `json:"variables,omitempty"`
}

// Accept reads an agent's invitation from input. Accept closes gone when the core closes its end of the input. The
// goroutine that reads runs until the input ends, because a read of a file cannot be interrupted.
func Accept(ctx context.Context, input io.Reader) (i Invitation, gone <-chan struct{}, err error) {
	lines, over := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(over)
		in := bufio.NewReaderSize(input, longestLine)
		if line, err := in.ReadSlice('\n'); err == nil {
			lines <- string(line)
			_, _ = io.Copy(io.Discard, in)
		}
	}()
	limit := time.NewTimer(invitationLimit)
	defer limit.Stop()
	select {
	case line := <-lines:
		i, err = decode(line)
	case <-over:
		select {
		case line := <-lines: // the input may have ended right after the line
			i, err = decode(line)
		default:
			err = errors.New("standard input has ended before the line that psbench run --hosts writes there")
		}
	case <-limit.C:
		err =
			fmt.Errorf("nothing has come on standard input within %.0f s: psbench run --hosts starts agents by ssh and writes their orders there",
				invitationLimit.Seconds())
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return i, over, err
}

// decode parses an invitation. decode ignores unknown fields, so that an agent of another version can still report its
// version. Errors do not quote the text, because it contains the secret.
func decode(line string) (i Invitation, err error) {
	if json.Unmarshal([]byte(line), &i) != nil {
		return i, errors.New("standard input does not have the line that psbench run --hosts writes")
	}
	if i.Rank < 1 || i.Rank >= i.Size || i.TimeoutS < 1 || len(i.Secret) == 0 {
		return i, fmt.Errorf(
			"standard input has impossible values: rank %d of %d, a timeout of %d s, a secret of %d bytes",
			i.Rank, i.Size, i.TimeoutS, len(i.Secret))
	}
	for _, v := range i.Variables {
		if !carries(v) {
			return i, fmt.Errorf("the variable %s is not one that a core passes on", quote.String(nameOf(v)))
		}
	}
	return i, nil
}

// Join opens an agent's listener on the address listen, and introduces the agent to the core on output.
func Join(i Invitation, me rollcall.Task, listen netip.Addr, output io.Writer) (*agent.Meeting, error) {
	id, err := identity.Of(i.Secret, agent.Purpose)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", netip.AddrPortFrom(listen, 0).String())
	if err != nil {
		return nil, fmt.Errorf("the agent cannot listen on %s: %w", listen, err)
	}
	me.Address = l.Addr().String()
	text, err := rollcall.Encode(me)
	if err == nil {
		_, err = fmt.Fprintln(output, mark+text)
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &agent.Meeting{Identity: id, Listener: l}, nil
}

// These environment variables of a run's processes can change a measurement.
var (
	carriedNames = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "LD_LIBRARY_PATH", "PYTHONPATH", simd.Variable,
		host.CUDAProductVariable}
	carriedPrefixes = []string{"OPENBLAS_", "GOTO_", "OMP_", "MKL_", "BLIS_"}
)

// Carried selects the environment variables that the core sends to agents. Launchers pass on all variables.
func Carried(environ []string) (some []string) {
	for _, v := range environ {
		if carries(v) {
			some = append(some, v)
		}
	}
	return some
}

func carries(variable string) bool {
	name := nameOf(variable)
	return slices.Contains(carriedNames, name) ||
		slices.ContainsFunc(carriedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
