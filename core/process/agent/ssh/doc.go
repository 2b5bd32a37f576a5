// Package ssh starts agents on hosts that the user lists, with the system's ssh. Authentication, host keys, names and
// jump hosts come from the user's own configuration. The core writes the agent's data, including the secret, to the
// standard input of ssh. The core keeps this input open while it runs; the agent ends when the input ends. The agent
// answers with one line on standard output. All other traffic uses TLS, as with agents that a launcher starts.
package ssh

import "time"

// mark begins the agent's answer. The core ignores all output before the mark, such as messages of the shell.
const mark = "psbench agent: "

// longestLine limits the length of an invitation and of an answer, in bytes.
const longestLine = 64 << 10

// invitationLimit limits how long an agent waits for its invitation.
const invitationLimit = 20 * time.Second
