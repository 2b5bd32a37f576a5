package wire

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/comm/commtest"
)

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Header{
			Op:      Op(rapid.OneOf(rapid.Uint8Range(1, uint8(opEnd)-1), rapid.Uint8Min(uint8(OpUser))).Draw(t, "op")),
			Flags:   rapid.Uint8().Draw(t, "flags"),
			Batch:   rapid.Int64().Draw(t, "batch"),
			Bucket:  rapid.Int32().Draw(t, "bucket"),
			Rows:    rapid.Int32().Draw(t, "rows"),
			Arg:     rapid.Int64().Draw(t, "arg"),
			Arg2:    rapid.Int64().Draw(t, "arg2"),
			Payload: rapid.Uint64Max(MaxPayload).Draw(t, "payload"),
		}
		var buf [HeaderSize]byte
		want.Encode(&buf)
		var got Header
		commtest.Must(t, got.Decode(&buf))
		if got != want {
			t.Fatalf("decoded %+v, want %+v", got, want)
		}
	})
}

func FuzzHeader(f *testing.F) {
	var buf [HeaderSize]byte
	(&Header{Op: OpPush, Batch: 3, Bucket: 1, Rows: 7, Payload: 28}).Encode(&buf)
	for _, change := range []struct {
		at    int
		value byte
	}{{47, 0}, {0, 'x'}, {4, 9}, {6, 0}, {6, byte(opEnd)}, {6, byte(OpUser)}, {47, 0xff}} {
		changed := buf
		changed[change.at] = change.value
		f.Add(changed[:])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in, out [HeaderSize]byte
		copy(in[:], raw)
		var h Header
		if h.Decode(&in) != nil {
			if h != (Header{}) {
				t.Fatalf("a refused header was filled in: %+v", h)
			}
			return
		}
		if h.Payload > MaxPayload || h.Op == 0 || h.Op >= opEnd && h.Op < OpUser {
			t.Fatalf("accepted %+v", h)
		}
		if h.Encode(&out); in != out {
			t.Fatalf("encoding of %+v is %x, was %x", h, out, in)
		}
	})
}

func FuzzHello(f *testing.F) {
	good, err := (&hello{purpose: "push", from: "trainer0", to: "server2"}).encode()
	commtest.Must(f, err)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(good[:len(good):len(good)], 0))
	f.Add([]byte(nil))
	f.Add(make([]byte, maxHello))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeHello(raw)
		if err != nil {
			return
		}
		again, err := m.encode()
		commtest.Must(t, err)
		if !bytes.Equal(again, raw) {
			t.Fatalf("encoding of %+v is %x, was %x", m, again, raw)
		}
	})
}
