package numeral

import "testing"

func TestInJSON(t *testing.T) {
	for text, want := range map[string]string{
		`[.5, +1, 2., True, "True .5", [1_0]]`: `[0.5, 1, 2, true, "True .5", [10]]`,
		`{"a":.5,"b":[-.5,None],"c":"\".5"}`:   `{"a":0.5,"b":[-0.5,null],"c":"\".5"}`,
		`[1,000]`:                              `[1,000]`,
		`[12,050,.5]`:                          `[12,050,.5]`,
		`[1,0001,02,0.05]`:                     `[1,1,2,0.05]`,
		`x`:                                    `x`,
	} {
		t.Run(text, func(t *testing.T) {
			if got, _ := InJSON(text); got != want {
				t.Errorf("%s becomes %s, want %s", text, got, want)
			}
		})
	}
	text := `[.5,007,True,x]`
	written, place := InJSON(text)
	for at, c := range written {
		if c == ',' || c == 'x' || c == ']' {
			if text[place(at)] != byte(c) {
				t.Errorf("%c at %d of %s comes from %d of %s", c, at, written, place(at), text)
			}
		}
	}
}
