// Package ssh starts agents on hosts that the user lists, by the system's ssh: authentication, host keys, names and
// jump hosts are those of the user's own configuration. What an agent needs to know, the secret above all, goes
// through the standard input of its ssh, which stays open for as long as the core lives; when it ends, so does the
// agent. The agent answers with one line on its standard output. Everything after that goes over TLS, as with
// agents that a launcher has started.
package ssh

import "time"

// mark begins the line by which an agent answers: what the shell of the host prints before that is passed over.
const mark = "psbench agent: "

// longestLine is how long an invitation and an answer may be, in bytes.
const longestLine = 64 << 10

// invitationLimit is how long an agent waits to be told what it is for.
const invitationLimit = 20 * time.Second
