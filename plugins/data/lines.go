package data

import (
	"bytes"
	"fmt"
	"io"
)

// longestLineMiB is more than any sample has. longestLineMiB limits memory, because the parsers hold a complete
// line and /dev/zero, for example, never ends one.
const longestLineMiB = 64

// boundedLines reads r and fails on a line that is too long.
type boundedLines struct {
	r      io.Reader
	length int // bytes of the line so far
}

func (b *boundedLines) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if last := bytes.LastIndexByte(p[:n], '\n'); last >= 0 {
		b.length = n - 1 - last
	} else {
		b.length += n
	}
	if b.length > longestLineMiB<<20 {
		return n, fmt.Errorf("the line is longer than %d MiB, the most that psbench reads", longestLineMiB)
	}
	return n, err
}
