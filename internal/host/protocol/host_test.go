package protocol

import (
	"bytes"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
)

var secret = bytes.Repeat([]byte{7}, wire.SecretSize)

// newHost makes the process of a trainer, in a folder that it shares with others.
func newHost(t testing.TB, folder, name, transport string, timeout time.Duration) *process.Process {
	t.Helper()
	p, err := process.New(nil, process.Config{
		Name: name, Secret: secret, Directory: folder, Transport: transport, Listen: "127.0.0.1", Timeout: timeout,
	}, process.NewEvents())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// takes is what a part does with a frame.
type takes func(p *protocoltest.Part, f wire.Header) error

// soon is a timeout for what must not come about.
const soon = 200 * time.Millisecond

// late is a timeout for what must not pass.
const late = 20 * time.Second
