// Package agent starts processes of a run on other hosts. An agent runs on each host: it starts, watches and ends
// the local processes for the core, using core/process/launch. The core connects over TLS 1.3 with a key from their
// shared secret. It uses one connection for calls and, for each process, a tunnel to the process's Unix socket, so
// remote processes are called like local ones.
//
// An agent never runs a command line from the network: the core names a plugin of the registry, with the checksums
// of its files, and the agent starts its own registry's plugin of that name if the checksums match. It ends
// everything when the core is gone or silent.
//
// A sweep's runs are processes of their own. The core then holds the agents while the runs call them directly, one
// run after the other. The first connection is the core's, and the agent ends with it; a run ends with its own
// connection.
package agent

import "time"

// Protocols of connections to an agent; TLS negotiates one (RFC 7301).
const (
	callsProtocol = "psbench-agent" // the calls of core/process/agent/proto
	// linkProtocol measures a link (internal/comm/limits), outside TLS once the peer is authenticated.
	linkProtocol    = "psbench-link"
	meetingProtocol = "psbench-meeting" // at the core: an agent introduces itself
	tunnelProtocol  = "psbench-process" // the name of a process, a newline, then the traffic of its socket
)

// Purpose is the purpose of the identity that core and agents share.
const Purpose = "agents"

// beatEvery is how often the core sends a sign of life to an agent.
const beatEvery = 500 * time.Millisecond
