package noise

import (
	"fmt"
	"testing"
)

func TestParseMachine(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want machineTimes
		ok   bool
	}{
		"two cores": {
			"cpu  10 20 30 400 5 6 7 8 9 10\ncpu0 5 10 15 200 2 3 3 4 0 0\ncpu1 5 10 15 200 3 3 4 4 0 0\nintr 1 2 3\nctxt 99\n",
			machineTimes{cores: 2, idle: 405, steal: 8, total: 486}, true,
		},
		"without guests": {"cpu 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n",
			machineTimes{cores: 1, idle: 2, steal: 1, total: 8}, true},
		"a sandbox's zeros": {"cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n", machineTimes{cores: 1}, false},
		"without cores":     {"cpu 1 1 1 1 1 1 1 1\n", machineTimes{total: 8}, false},
		"without steal":     {"cpu 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1\n", machineTimes{}, false},
		"a negative time":   {"cpu 1 1 1 -1 1 1 1 1\ncpu0\n", machineTimes{total: 3}, false},
		"too large a time":  {"cpu 1 1 1 999999999999999999 1 1 1 1\ncpu0\n", machineTimes{total: 3}, false},
		"twice":             {"cpu 1 1 1 1 1 1 1 1\ncpu0\ncpu 1 1 1 1 1 1 1 1\n", machineTimes{}, false},
		"nothing":           {"", machineTimes{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseMachine(c.text)
			if ok != c.ok || ok && got != c.want {
				t.Errorf("%s: %+v, %v; want %+v, %v", name, got, ok, c.want, c.ok)
			}
		})
	}
}

func TestParseSwitches(t *testing.T) {
	for text, ok := range map[string]bool{
		"Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n": true,
		"Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3":   true,
		"Name:\tx\nvoluntary_ctxt_switches:\t12\n":                                 false,
		"Name:\tx\nnonvoluntary_ctxt_switches:\t3\n":                               false,
		"\nvoluntary_ctxt_switches:\t-1\nnonvoluntary_ctxt_switches:\t3\n":         false,
		"": false,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			if got, told := parseSwitches(text); told != ok || ok && got != (switches{12, 3}) {
				t.Errorf("%q: %+v, %v", text, got, told)
			}
		})
	}
}

// For any file, times are not negative, and not so large that sums overflow.
func FuzzParse(f *testing.F) {
	f.Add("cpu  10 20 30 400 5 6 7 8 9 10\ncpu0 5 10 15 200 2 3 3 4 0 0\n")
	f.Add("Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := parseMachine(text); ok && (m.idle < 0 || m.steal < 0 || m.total < m.idle+m.steal || m.cores < 1) {
			t.Errorf("machine %+v", m)
		}
		if s, ok := parseSwitches(text); ok && (s.voluntary < 0 || s.involuntary < 0) {
			t.Errorf("switches %+v", s)
		}
	})
}
