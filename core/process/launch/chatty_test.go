package launch

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// Output before the handshake counts as ordinary output of the plugin, even on the handshake's line.
func TestHandshakeAmongWords(t *testing.T) {
	const hands = "1|2001|unix|/run/plugin.sock|grpc"
	long := strings.Repeat("x", 3*longestHandshake+5)
	for name, c := range map[string]struct{ printed, told, words string }{
		"alone":              {hands + "\n", hands + "\n", ""},
		"after lines":        {"model zoo 1.2\n\n" + hands + "\r\n", hands + "\r\n", "model zoo 1.2\n\n"},
		"on a line":          {"model zoo 1.2" + hands + "\n", hands + "\n", "model zoo 1.2\n"},
		"after a number":     {"1|2|tables|4|5\n3" + hands + "\n", hands + "\n", "1|2|tables|4|5\n3\n"},
		"after a long line":  {long + hands + "\n", hands + "\n", long + "\n"},
		"and then more":      {hands + "\nready\n" + hands + "\n", hands + "\n", "ready\n" + hands + "\n"},
		"without its end":    {"hello\n" + hands, "", "hello\n" + hands},
		"not at all":         {"hello\nwor", "", "hello\nwor"},
		"of another version": {"1||unix|/s|grpc\n", "1||unix|/s|grpc\n", ""},
		"too late": {strings.Repeat(long+"\n", mostBefore/len(long)+1) + hands + "\n",
			"it printed more than 4 MiB without a handshake\n",
			strings.Repeat(long+"\n", mostBefore/len(long)+1) + hands + "\n"},
	} {
		for way, reader := range map[string]func(io.Reader) io.Reader{"whole": same, "in bytes": iotest.OneByteReader} {
			if way == "in bytes" && len(c.printed) > mostBefore {
				continue
			}
			t.Run(name+" "+way, func(t *testing.T) {
				var words strings.Builder
				h := &handshake{words: &words}
				var write *os.File
				var err error
				if h.pipe, write, err = newPipe(h); err != nil {
					t.Fatal(err)
				}
				h.pipe.ended = h.ended
				go func() {
					defer func() { _ = write.Close() }()
					_, _ = io.Copy(write, reader(strings.NewReader(c.printed)))
				}()
				told, err := io.ReadAll(h)
				if err != nil || string(told) != c.told || words.String() != c.words {
					t.Errorf("go-plugin reads %q, %v, want %q; words are %.200q, want %.200q", told, err, c.told,
						words.String(), c.words)
				}
			})
		}
	}
}

// The start of a plugin that prints endlessly without a handshake fails.
func TestFloodWithoutHandshake(t *testing.T) {
	_, err := launcher(t).Start(t.Context(), Spec{Name: "trainer0", Plugin: program(t, "exec yes $(printf %01000d 0)")})
	if err == nil || !strings.HasPrefix(err.Error(),
		"trainer0 did not start: it is not a psbench plugin: it printed more than 4 MiB without a handshake; its last words: 000") {
		t.Errorf("the start gave %v", err)
	}
}

func same(r io.Reader) io.Reader { return r }
