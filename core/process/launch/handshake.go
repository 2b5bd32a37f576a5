package launch

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
)

// handshakeStart is how a handshake begins: the version of go-plugin's protocol, the version of the contract,
// and the kind of address at which the plugin is called.
var handshakeStart = regexp.MustCompile(`1\|[^|]*\|(unix|tcp)\|`)

// mostBefore bounds what a plugin prints before its handshake, and longestHandshake the handshake, both in bytes.
const (
	mostBefore       = 4 << 20
	longestHandshake = 8 << 10
)

// handshake is a plugin's standard output as go-plugin reads it: the line of the handshake and nothing else. All
// other text goes to the plugin's words, since modules, wrapper scripts and child processes may print first, even
// on the line of the handshake.
type handshake struct {
	*pipe
	words  io.Writer
	found  bool   // or given up
	before int    // bytes printed without a handshake
	line   []byte // the last of them, which may be its beginning
	told   []byte // what go-plugin has yet to read
}

// Read returns the handshake once it comes. After that it reads on to the end and returns nothing, so that a
// plugin's output never waits for a reader.
func (h *handshake) Read(b []byte) (int, error) {
	for len(h.told) == 0 {
		if _, err := h.pipe.Read(b); err != nil {
			return 0, err
		}
	}
	n := copy(b, h.told)
	h.told = h.told[n:]
	return n, nil
}

// Write takes what the plugin prints. It never fails.
func (h *handshake) Write(b []byte) (int, error) {
	size := len(b)
	for len(b) > 0 && !h.found {
		_, rest, whole := bytes.Cut(b, []byte("\n"))
		piece := b[:len(b)-len(rest)]
		h.line = append(h.line, piece...)
		h.before += len(piece)
		h.look(whole)
		b = rest
	}
	_, _ = h.words.Write(b)
	return size, nil
}

// look finds the handshake in the line so far.
func (h *handshake) look(whole bool) {
	start := handshakeStart.FindIndex(h.line)
	switch {
	case whole && start != nil:
		text := h.line[:start[0]]
		if h.found, h.told = true, h.line[start[0]:]; len(text) > 0 {
			_, _ = h.words.Write(append(bytes.Clone(text), '\n'))
		}
	case h.before > mostBefore:
		h.found, h.told = true, fmt.Appendf(nil, "it printed more than %d MiB without a handshake\n", mostBefore>>20)
		h.pass(len(h.line))
	case whole:
		h.pass(len(h.line))
	case len(h.line) > 2*longestHandshake:
		h.pass(len(h.line) - longestHandshake)
	}
}

// pass hands so many bytes of the line to the words.
func (h *handshake) pass(n int) {
	_, _ = h.words.Write(h.line[:n])
	h.line = append(h.line[:0], h.line[n:]...)
}

// ended hands over a line that has no end.
func (h *handshake) ended() {
	if !h.found {
		h.pass(len(h.line))
	}
}
