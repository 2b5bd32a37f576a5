// Package agent starts processes of a run on other hosts. An agent runs on each host: it starts, watches and ends the
// local processes for the core, using core/process/launch. The core connects over TLS 1.3, with a key derived from the
// secret that core and agents share. The core uses one connection for calls. The core also opens a tunnel to the Unix
// socket of each process, so it calls remote processes like local ones.
//
// An agent never runs a command line from the network. Instead, the core sends the name of a plugin and the checksums
// of the plugin's files. The agent starts the plugin of this name from its own registry, if the checksums match. When
// the core is gone or silent for too long, the agent ends all its processes.
//
// Each run of a sweep is a separate process. The core of the sweep keeps its connections to the agents open, while the
// runs call the agents directly, one run after another. An agent takes its first connection as the core's, and ends
// when this connection ends. When the connection of a run ends, the agent ends that run only.
package agent

import "time"

// These are the protocols of connections to an agent. TLS negotiates one of them (RFC 7301).
const (
	callsProtocol = "psbench-agent" // the calls of core/process/agent/proto
	// linkProtocol measures a link (internal/comm/limits). Once TLS has authenticated the peer, the measurement
	// bypasses TLS.
	linkProtocol    = "psbench-link"
	meetingProtocol = "psbench-meeting" // on connections to the core: an agent introduces itself
	tunnelProtocol  = "psbench-process" // begins with a process name and a newline; the traffic of its socket follows
)

// Purpose is the purpose of the identity that core and agents share.
const Purpose = "agents"

// beatEvery is the interval between the heartbeats that the core sends to an agent.
const beatEvery = 500 * time.Millisecond
