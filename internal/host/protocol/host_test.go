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

// newHost creates a trainer's process in a folder that other processes of the test share.
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

// takes is a function that handles a frame on the part's side.
type takes func(p *protocoltest.Part, f wire.Header) error

// soon is a timeout for events that must not happen.
const soon = 200 * time.Millisecond

// late is a timeout that no test should reach.
const late = 20 * time.Second
