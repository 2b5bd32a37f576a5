// Package agent starts processes of a run on other hosts. An agent runs there: it starts, guards and ends
// the local processes on behalf of the core, by core/process/launch. The core reaches it over TLS 1.3 with a key
// of the secret that both know: by calls, and for each process that it starts by a tunnel to the Unix
// socket of that process, so that a process elsewhere is called as one here is.
//
// An agent runs no command line that comes over the network: the core names a plugin of the registry,
// with the checksums of its files, and the agent starts what its own registry has under the name, if that
// is the same. It ends everything when the core is gone or silent.
//
// A core whose runs are processes of their own, as those of a sweep, holds its agents while these call them by
// themselves, one run after the other: the first connection is that of the core, whose end is the agent's; the end of
// another one is that of its run.
package agent

import "time"

// Protocols that a connection to an agent is for; TLS negotiates one (RFC 7301).
const (
	callsProtocol = "psbench-agent" // the calls of core/process/agent/proto
	// linkProtocol is that of measuring a link (internal/comm/limits), outside TLS once the other side is known.
	linkProtocol    = "psbench-link"
	meetingProtocol = "psbench-meeting" // at the core: an agent says who it is
	tunnelProtocol  = "psbench-process" // the name of a process, a newline, then all that goes to and from its socket
)

// Purpose is that of the identity by which core and agents know each other.
const Purpose = "agents"

// beatEvery is how often the core shows an agent that it is there.
const beatEvery = 500 * time.Millisecond
