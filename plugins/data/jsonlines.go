package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
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
			s := newSampleReader(text, out.wanted)
			err := s.read()
			if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
				s, err = readLoosely(text, s, err)
			}
			if err != nil {
				return at(line, s.column(), err)
			}
			if err := out.add(line, &s.sample); err != nil {
				return at(line, 1, err)
			}
		}
		if err != nil {
			return nil
		}
	}
}

// sampleReader reads one line token by token. A decoder into a struct would not give the position of each number.
type sampleReader struct {
	line   []byte
	tokens *json.Decoder
	start  int // start of the current token

	sample
	wanted wanted
	fields []string // names of the fields read so far
}

func newSampleReader(line []byte, w wanted) *sampleReader {
	tokens := json.NewDecoder(bytes.NewReader(line))
	tokens.UseNumber()
	return &sampleReader{line: line, tokens: tokens, wanted: w}
}

// readLoosely reads a line again that is not valid JSON. readLoosely first rewrites numbers and constants in the
// forms that JSON allows.
func readLoosely(line []byte, strict *sampleReader, why error) (*sampleReader, error) {
	written, place := numeral.InJSON(string(line))
	if written == string(line) {
		return strict, strict.noNumber(why)
	}
	s := newSampleReader([]byte(written), strict.wanted)
	err := s.read()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		err = s.noNumber(err)
	}
	s.start = place(s.start)
	for i := range s.bag {
		s.bag[i].column = place(s.bag[i].column-1) + 1
	}
	for i := range s.features {
		s.features[i].column = place(s.features[i].column-1) + 1
	}
	for i := range s.targets {
		s.targets[i].column = place(s.targets[i].column-1) + 1
	}
	return s, err
}

// noNumber completes a JSON error, which names only the first letter of a word such as NaN. noNumber returns other
// errors unchanged.
func (s *sampleReader) noNumber(err error) error {
	rest := s.line[s.start:]
	word := rest[:len(rest)-len(bytes.TrimLeftFunc(rest,
		func(c rune) bool { return unicode.IsLetter(c) || c == '-' || c == '+' }))]
	if len(word) < 2 {
		return err
	}
	return fmt.Errorf("%s is not a finite number", quote.String(string(word)))
}

// column returns the start of the current token, counted in bytes from 1.
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
	if !slices.Contains(s.fields, "input") && !slices.Contains(s.fields, "features") {
		return errors.New(`the sample has no field "input" and no field "features"`)
	}
	if !slices.Contains(s.fields, "target") {
		return errors.New(`the sample has no field "target"`)
	}
	switch _, err := s.next(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return errors.New("the line has more than one sample")
	}
}

func (s *sampleReader) readField() error {
	token, err := s.next()
	if err != nil {
		return s.broken(err)
	}
	field, ok := token.(string)
	switch {
	case !ok || !slices.Contains([]string{"input", "features", "target"}, field):
		return fmt.Errorf(`field %s is not known: a sample has "input" or "features" and "target"`,
			quote.String(fmt.Sprint(token)))
	case slices.Contains(s.fields, field):
		return fmt.Errorf("field %q occurs twice", field)
	}
	s.fields = append(s.fields, field)
	switch field {
	case "input":
		s.hasBag = true
		return s.readList("a list of indices", s.readIndex)
	case "features":
		return s.readList("a list of numbers", s.readFeature)
	default:
		return s.readTargets()
	}
}

func (s *sampleReader) readIndex() error {
	n, err := s.integer()
	s.bag = append(s.bag, n)
	return err
}

func (s *sampleReader) readFeature() error {
	text, err := s.number()
	if err != nil {
		return err
	}
	value, err := parseFeature(text)
	s.features = append(s.features, feature{value, s.column()})
	return err
}

// readTargets reads one target or a list of them.
func (s *sampleReader) readTargets() error {
	rest := bytes.TrimLeft(s.line[s.tokens.InputOffset():], " \t\r\n:")
	if bytes.HasPrefix(rest, []byte("[")) {
		return s.readList("a list of targets", s.readTarget)
	}
	if err := s.readTarget(); err != nil {
		return err
	}
	return s.wanted.checkSingle(&s.targets[0], string(s.line[s.start:s.tokens.InputOffset()]))
}

func (s *sampleReader) readTarget() error {
	text, err := s.number()
	if err != nil {
		return err
	}
	t, err := s.wanted.parse(text)
	t.column = s.column()
	s.targets = append(s.targets, t)
	return err
}

// readList reads a list and calls read for each item.
func (s *sampleReader) readList(meaning string, read func() error) error {
	if err := s.expect(json.Delim('['), meaning); err != nil {
		return err
	}
	for s.tokens.More() {
		if err := read(); err != nil {
			return err
		}
	}
	return s.expect(json.Delim(']'), "the end of the list")
}

func (s *sampleReader) integer() (number, error) {
	text, err := s.number()
	if err != nil {
		return number{}, err
	}
	value, err := parseNumber(text)
	return number{value, s.column()}, err
}

// number returns the text of the next token, which must be a number.
func (s *sampleReader) number() (string, error) {
	token, err := s.next()
	if err != nil {
		return "", s.broken(err)
	}
	if text, ok := token.(json.Number); ok {
		return text.String(), nil
	}
	return string(s.line[s.start:s.tokens.InputOffset()]), nil
}

func (s *sampleReader) expect(want json.Delim, meaning string) error {
	token, err := s.next()
	if err != nil {
		return s.broken(err)
	}
	if token != want {
		return fmt.Errorf("%s stands where %s should", quote.Text(string(s.line[s.start:s.tokens.InputOffset()])),
			meaning)
	}
	return nil
}

// next reads a token and records its start, after any white space and separators.
func (s *sampleReader) next() (json.Token, error) {
	from := int(s.tokens.InputOffset())
	rest := s.line[from:]
	s.start = from + len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
	return s.tokens.Token()
}

// broken rewords the error for a line that ends inside a sample.
func (s *sampleReader) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.start = len(bytes.TrimRight(s.line, " \t\r\n"))
		return errors.New("the line ends inside a sample")
	}
	return err
}
