package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// parseJSONLines reads one sample from each line that is not blank.
func parseJSONLines(r io.Reader, out *fileSamples) error {
	lines := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			sample := newSampleReader(text)
			if err := sample.read(); err != nil {
				return at(line, sample.column(), err)
			}
			out.add(line, sample.input, sample.target)
		}
		if err != nil {
			return nil
		}
	}
}

// sampleReader reads one line token by token, because a decoder into a struct
// would not tell where on the line a number stands.
type sampleReader struct {
	line   []byte
	tokens *json.Decoder
	start  int // of the current token

	input               []number
	target              number
	hasInput, hasTarget bool
}

func newSampleReader(line []byte) *sampleReader {
	tokens := json.NewDecoder(bytes.NewReader(line))
	tokens.UseNumber()
	return &sampleReader{line: line, tokens: tokens}
}

// column is where the current token starts, counted in bytes from 1.
func (s *sampleReader) column() int { return s.start + 1 }

func (s *sampleReader) read() error {
	if err := s.expect(json.Delim('{'), `a sample, {"input": [...], "target": ...}`); err != nil {
		return err
	}
	for s.tokens.More() {
		if err := s.readField(); err != nil {
			return err
		}
	}
	if err := s.expect(json.Delim('}'), "the end of the sample"); err != nil {
		return err
	}
	if !s.hasInput {
		return errors.New(`the sample has no field "input"`)
	}
	if !s.hasTarget {
		return errors.New(`the sample has no field "target"`)
	}
	switch _, err := s.next(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return errors.New("there is more on the line than one sample")
	}
}

func (s *sampleReader) readField() error {
	name, err := s.next()
	if err != nil {
		return s.broken(err)
	}
	switch {
	case name == "input" && !s.hasInput:
		s.hasInput = true
		return s.readInput()
	case name == "target" && !s.hasTarget:
		s.hasTarget = true
		s.target, err = s.number()
		return err
	case name == "input" || name == "target":
		return fmt.Errorf("field %q occurs twice", name)
	default:
		return fmt.Errorf(`field %q is not known: a sample has "input" and "target"`, name)
	}
}

func (s *sampleReader) readInput() error {
	if err := s.expect(json.Delim('['), "a list of indices"); err != nil {
		return err
	}
	for s.tokens.More() {
		n, err := s.number()
		if err != nil {
			return err
		}
		s.input = append(s.input, n)
	}
	return s.expect(json.Delim(']'), "the end of the list")
}

func (s *sampleReader) number() (number, error) {
	token, err := s.next()
	if err != nil {
		return number{}, s.broken(err)
	}
	text, ok := token.(json.Number)
	if !ok {
		text = json.Number(s.line[s.start:s.tokens.InputOffset()])
	}
	value, err := parseNumber(text.String())
	return number{value, s.column()}, err
}

func (s *sampleReader) expect(want json.Delim, meaning string) error {
	token, err := s.next()
	if err != nil {
		return s.broken(err)
	}
	if token != want {
		return fmt.Errorf("%s stands where %s should", s.line[s.start:s.tokens.InputOffset()], meaning)
	}
	return nil
}

// next reads a token and remembers where it starts: after the white space and
// the separators that follow the token before it.
func (s *sampleReader) next() (json.Token, error) {
	from := int(s.tokens.InputOffset())
	rest := s.line[from:]
	s.start = from + len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
	return s.tokens.Token()
}

// broken words the end of the line inside a sample.
func (s *sampleReader) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.start = len(bytes.TrimRight(s.line, " \t\r\n"))
		return errors.New("the line ends inside a sample")
	}
	return err
}
