package launch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// handshakeTimeout limits the time from exec to the plugin's handshake, even if the plugin prints other output. If the
// run's timeout is longer, that timeout applies instead.
const handshakeTimeout = 30 * time.Second

// stopTimeout limits how long a process may take to end after it was asked to.
const stopTimeout = 500 * time.Millisecond

// Process is a running plugin process.
type Process struct {
	Name string
	proto.PartClient

	startTook time.Duration
	client    *plugin.Client
	child     *child
	program   *checked
	words     *words
}

func newProcess(l *Launcher, spec Spec) (*Process, error) {
	command, err := l.command(spec)
	if err != nil {
		return nil, err
	}
	path := command.Path
	program, err := checkProgram(command, spec.Plugin)
	if err != nil {
		return nil, err
	}
	words, err := newWords(spec.Name, l.output)
	if err != nil {
		program.close()
		return nil, err
	}
	p := &Process{Name: spec.Name, program: program, words: words, child: newChild(l, spec, words)}
	if len(spec.Plugin.Command) > 0 {
		p.child.program = path
	}
	config := &plugin.ClientConfig{
		HandshakeConfig:  host.Handshake,
		VersionedPlugins: host.Contract.Accepted(),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		StartTimeout:     l.patience(),
		SkipHostEnv:      true,
		Logger:           hclog.NewNullLogger(),
		SyncStdout:       words.stream(),
		SyncStderr:       words.stream(),
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: l.directory},
		GRPCDialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(host.MaxMessageBytes), grpc.MaxCallSendMsgSize(host.MaxMessageBytes))},
		// go-plugin passes a command of its own to a RunnerFunc. Only the environment of this command is used.
		RunnerFunc: func(_ hclog.Logger, filled *exec.Cmd, _ string) (runner.Runner, error) {
			command.Env = append(command.Env, filled.Env...)
			p.child.cmd = command
			return p.child, nil
		},
	}
	p.client = plugin.NewClient(config)
	return p, nil
}

// connect starts the process and waits until the core can call it. If the process is idle for the run's timeout,
// connect kills it and reports it as hanging.
func (p *Process) connect(ctx context.Context) error {
	started := time.Now()
	spare := context.AfterFunc(ctx, p.child.kill)
	defer spare()
	defer p.program.close()
	called, hung := make(chan struct{}), make(chan bool, 1)
	go func() {
		silent := p.child.hangs(called)
		if silent {
			p.child.kill()
		}
		hung <- silent
	}()
	err := p.call()
	close(called)
	if silent := <-hung; silent || err != nil { // for some failed calls go-plugin returns no error
		return p.startError(ctx, err, silent)
	}
	if err := p.program.again(); err != nil {
		p.child.kill()
		return err
	}
	if !spare() { // the call succeeded, but ctx has ended and the process is being killed
		return context.Cause(ctx)
	}
	p.startTook = time.Since(started)
	return nil
}

// call starts the process, waits for its handshake and makes the first calls.
func (p *Process) call() (err error) {
	// go-plugin panics if a handshake has a certificate that psbench did not ask for.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(needlessCertificate)
		}
	}()
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(host.Dispensed)
	if err != nil {
		return err
	}
	p.PartClient = raw.(proto.PartClient)
	return nil
}

func (p *Process) startError(ctx context.Context, err error, silent bool) error {
	if cause := context.Cause(ctx); cause != nil {
		if said := p.LastWords(); said != "" && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%w; its last words: %s", cause, said)
		}
		return cause
	}
	p.child.kill()
	p.child.wait()
	switch {
	case p.PID() == 0:
		return err
	case silent:
		timeout := p.child.launcher.timeout
		return fmt.Errorf("%w%s", &comm.WaitError{Waiter: "the core", For: []string{p.Name}, What: "its start",
			Seconds: timeout.Seconds()}, p.lastWords())
	case refusal(err) != "":
		return fmt.Errorf("%s did not start: %s", p.Name, refusal(err))
	case p.child.succeeded() && !spoke(err):
		return fmt.Errorf("%s did not start: it is not a psbench plugin: it ended without a handshake%s", p.Name,
			p.lastWords())
	case p.child.diedAlone() && !spoke(err):
		if fault := p.child.fault(); fault != "" {
			return fmt.Errorf("%s did not start: %s", p.Name, fault)
		}
		return p.Death("its start")
	default:
		return fmt.Errorf("%s did not start: %s%s", p.Name, reason(err), p.lastWords())
	}
}

// foreignOutput is the beginning of go-plugin's error for output without a handshake. The output ended, or psbench gave
// up the search.
const foreignOutput = "Unrecognized remote plugin message: "

// anotherVersion is go-plugin's error for a plugin whose contract version the core does not accept.
const anotherVersion = "incompatible API version with plugin. Plugin version: %d,"

// noVersion is go-plugin's error for a plugin whose contract version is not a number.
const noVersion = "Error parsing protocol version %q:"

// refusal explains why a plugin with another version of the contract is refused. refusal returns "" for other errors.
func refusal(err error) string {
	var number int
	var text string
	if _, err := fmt.Sscanf(err.Error(), noVersion, &text); err == nil {
		return host.Contract.RefusalOf(quote.String(text))
	}
	if _, err := fmt.Sscanf(err.Error(), anotherVersion, &number); err != nil {
		return ""
	}
	return host.Contract.Refusal(number)
}

// spoke reports whether the search for a handshake was given up because of the program's output.
func spoke(err error) bool {
	line, _, _ := strings.Cut(err.Error(), "\n")
	said, foreign := strings.CutPrefix(line, foreignOutput)
	return foreign && said != ""
}

// reason returns why the handshake failed, on one line. reason drops go-plugin's advice on how to build plugins.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	said, foreign := strings.CutPrefix(line, foreignOutput)
	switch {
	case strings.HasPrefix(line, "timeout"):
		return "no handshake came in time"
	case strings.HasPrefix(line, "unsupported plugin protocol"):
		return fmt.Sprintf("its handshake must name the protocol grpc as its fifth word, as in 1|%d|unix|SOCKET|grpc",
			host.Handshake.ProtocolVersion)
	case strings.HasPrefix(line, "plugin exited"):
		return "it ended before its handshake"
	case strings.HasPrefix(line, "error parsing server cert"):
		return needlessCertificate
	case !foreign:
		return quote.Message(line)
	case said == "":
		return "it is not a psbench plugin: it ended its output without a handshake"
	default:
		return "it is not a psbench plugin: " + said
	}
}

// needlessCertificate is the error for a handshake with a sixth field.
const needlessCertificate = "its handshake has a certificate as its sixth word, but psbench asks for none"

// unanswered explains why the first call to a process failed.
func (p *Process) unanswered(err error) string {
	switch said := status.Convert(err); said.Code() {
	case codes.Unavailable:
		return fmt.Sprintf("nothing answers calls at %s, which its handshake names", quote.Word(p.Address()))
	case codes.Unimplemented:
		return "it lacks calls of psbench's contract with plugins: build it with the sdk of this psbench"
	default:
		return quote.Message(said.Message())
	}
}

// lastWords returns the last output of the process as the end of an error message, or "" if there is none.
func (p *Process) lastWords() string {
	p.child.drained()
	if last := p.words.last(); last != "" {
		return "; its last words: " + quote.Message(last)
	}
	return ""
}

// Contract returns the version of the plugin's contract, as in 2.0, or "" before the handshake.
func (p *Process) Contract() string {
	if number := p.client.NegotiatedVersion(); number > 0 {
		return host.VersionOf(number).String()
	}
	return ""
}

// LastWords returns the last output of the process on one line.
func (p *Process) LastWords() string { return quote.Message(p.words.last()) }

// Raised returns the Python exception at the end of the process's output, and where in the plugin it was raised. Raised
// returns "" if the output ends with something else.
func (p *Process) Raised() (what, where string) {
	p.words.mu.Lock()
	defer p.words.mu.Unlock()
	return quote.Message(p.words.python.what), quote.Message(p.words.python.where())
}

// StartTook returns the time from exec to the end of the handshake.
func (p *Process) StartTook() time.Duration { return p.startTook }

// PID returns the process ID, or 0 if the process never started.
func (p *Process) PID() int { return p.child.pid() }

// Address returns the path of the Unix socket on which the process accepts calls.
func (p *Process) Address() string {
	if at := p.client.ReattachConfig(); at != nil {
		return at.Addr.String()
	}
	return ""
}

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.child.exited }

// Death returns a *DeathError that says how the process ended and what it printed last. Call it only after Exited is
// closed. phase is what the run was doing.
func (p *Process) Death(phase string) error {
	return &DeathError{fmt.Sprintf("%s (process %d) %s%s", p.Name, p.PID(), p.child.status(phase), p.lastWords())}
}

// DeathError is the error for a process that ended before the core ended it.
type DeathError struct{ text string }

func (e *DeathError) Error() string { return e.text }

// DeathElsewhere returns the error for a process that ended on another host. death is the message of the agent there.
func DeathElsewhere(host, death string) error { return &DeathError{"on " + host + " " + death} }

// stop ends the process and waits until it has ended. A process that is stopped or hangs does not answer, so the
// request to end has its own deadline.
func (p *Process) stop(gently bool) {
	if !gently {
		p.child.kill()
	}
	deadline := time.AfterFunc(stopTimeout, p.child.kill)
	defer deadline.Stop()
	p.client.Kill()
	// go-plugin's Kill does nothing if the process had no handshake.
	p.child.kill()
	p.child.wait()
	p.child.drained()
	p.words.close()
}
