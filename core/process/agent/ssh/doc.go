// Package ssh starts agents on hosts that the user lists, with the system's ssh. Authentication, host keys, names
// and jump hosts come from the user's own configuration. The agent gets its data, above all the secret, on the
// standard input of its ssh. That input stays open as long as the core lives; when it ends, the agent ends. The
// agent answers with one line on standard output. Everything else goes over TLS, as with agents that a launcher
// started.
package ssh

import "time"

// mark begins the agent's answer. Output of the host's shell before it is ignored.
const mark = "psbench agent: "

// longestLine limits an invitation and an answer, in bytes.
const longestLine = 64 << 10

// invitationLimit limits how long an agent waits for its invitation.
const invitationLimit = 20 * time.Second
