package launch

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
)

// handshakeStart matches the start of a handshake: the version of go-plugin's protocol, the version of the contract,
// and the network of the plugin's address.
var handshakeStart = regexp.MustCompile(`1\|[^|]*\|(unix|tcp)\|`)

// mostBefore limits the output before the handshake. longestHandshake limits the handshake. Both limits are in bytes.
const (
	mostBefore       = 4 << 20
	longestHandshake = 8 << 10
)

// handshake filters a plugin's standard output for go-plugin, which gets only the line with the handshake. All other
// text goes to words. Modules, wrapper scripts and child processes may print before the handshake, even on the same
// line.
type handshake struct {
	*pipe
	words  io.Writer
	found  bool   // also true if the search was given up
	before int    // bytes that were searched for a handshake
	line   []byte // current line, which may contain the beginning of the handshake
	told   []byte // text that go-plugin has not read yet
}

// Read returns the handshake as soon as the plugin has printed it. Later calls return no data, but keep reading, so
// that the plugin never blocks when it prints.
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

// Write searches output of the plugin for the handshake and passes on the rest. Write never returns an error.
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

// look searches the current line for the handshake. whole means that the line is complete.
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

// pass moves the first n bytes of the line to words.
func (h *handshake) pass(n int) {
	_, _ = h.words.Write(h.line[:n])
	h.line = append(h.line[:0], h.line[n:]...)
}

// ended passes on an unfinished last line.
func (h *handshake) ended() {
	if !h.found {
		h.pass(len(h.line))
	}
}
