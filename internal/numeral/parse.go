package numeral

import "strings"

// parts are the components of a written number. At least one of whole and decimals has digits.
type parts struct {
	sign            string // "-" or ""
	whole, decimals string
	exponent        string // exponent with its sign; "" if there is none
}

// parse splits a number into its parts.
func parse(text string) (parts, error) {
	text = strings.TrimSpace(text)
	p, rest := parts{}, text
	p.sign, rest = cutSign(rest)
	p.whole, rest = cutDigits(rest)
	if after, point := strings.CutPrefix(rest, "."); point {
		p.decimals, rest = cutDigits(after)
	}
	found := p.whole != "" || p.decimals != ""
	if found && (strings.HasPrefix(rest, "e") || strings.HasPrefix(rest, "E")) {
		sign, digits := cutSign(rest[1:])
		if digits, rest = cutDigits(digits); digits != "" {
			p.exponent = sign + digits
		} else {
			found = false
		}
	}
	switch {
	case found && rest == "":
		return p, nil
	case text != "" && strings.Contains(text, ",") && strings.ContainsAny(text, "0123456789") &&
		strings.Trim(text, "+-.,eE0123456789") == "":
		return p, ErrComma
	}
	return p, ErrSyntax
}

func cutSign(text string) (sign, rest string) {
	if rest, minus := strings.CutPrefix(text, "-"); minus {
		return "-", rest
	}
	return "", strings.TrimPrefix(text, "+")
}

// cutDigits splits off the digits at the start of a text. cutDigits removes single underscores between digits.
func cutDigits(text string) (digits, rest string) {
	end, grouped := 0, false
	for ; end < len(text); end++ {
		c := text[end]
		if c == '_' && end > 0 && text[end-1] != '_' && end+1 < len(text) && isDigit(text[end+1]) {
			grouped = true
		} else if !isDigit(c) {
			break
		}
	}
	digits = text[:end]
	if grouped {
		digits = strings.ReplaceAll(digits, "_", "")
	}
	return digits, text[end:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// json writes the number in JSON syntax.
func (p parts) json() string {
	out := p.sign + strings.TrimLeft(p.whole, "0")
	if strings.TrimLeft(p.whole, "0") == "" {
		out += "0"
	}
	if p.decimals != "" {
		out += "." + p.decimals
	}
	if p.exponent != "" {
		out += "e" + p.exponent
	}
	return out
}
