package npy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/psbench/psbench/internal/quote"
)

// Seal is the last field of a document next to columns. Seal reveals whether the document was changed later.
type Seal struct {
	// CRC32 is the CRC-32 of the document in hex. CRC32 is computed with zeros in place of its own digits.
	CRC32 string `json:"crc32,omitempty"`
}

const unsealed = "00000000"

// Sealed returns a document as JSON with its seal filled in. seal must point to the document's seal.
func Sealed(document any, seal *Seal) ([]byte, error) {
	seal.CRC32 = unsealed
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	digits := text.Bytes()[bytes.LastIndex(text.Bytes(), []byte(unsealed)):]
	copy(digits, fmt.Sprintf("%08x", crc32.ChecksumIEEE(text.Bytes())))
	return text.Bytes(), nil
}

// Check compares the text of a document with its seal. Documents of older versions have no seal and pass.
func (s Seal) Check(text []byte) error {
	if s.CRC32 == "" {
		return nil
	}
	want, err := strconv.ParseUint(s.CRC32, 16, 32)
	at := bytes.LastIndex(text, []byte(s.CRC32))
	if err != nil || len(s.CRC32) != len(unsealed) || at < 0 {
		return fmt.Errorf("its crc32 is %s, but must be 8 hexadecimal digits", quote.Word(s.CRC32))
	}
	text = bytes.Clone(text)
	copy(text[at:], unsealed)
	if crc := crc32.ChecksumIEEE(text); uint64(crc) != want {
		return fmt.Errorf("its content has changed: its CRC-32 is %08x, but was %08x", crc, want)
	}
	return nil
}
