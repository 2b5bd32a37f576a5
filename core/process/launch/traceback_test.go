package launch

import (
	"strings"
	"testing"
)

func TestTraceback(t *testing.T) {
	const one = `Traceback (most recent call last):
  File "/root/.cache/psbench/python-58222693fe8d3ac2/psbench/companion/roles/hook.py", line 30, in reduce
    self.part.reduce()
  File "/home/u/topk/topk.py", line 29, in reduce
    self.choose(bucket)
    ~~~~~~~~~~~^^^^^^^^
  File "/home/u/topk/choose.py", line 3, in choose
    return numpy.partition(bucket)
  File "/usr/lib/python3/dist-packages/numpy/core/fromnumeric.py", line 7, in partition
    a.partition()
IndexError: index 0 is out of bounds
`
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {"all is well\nIndexError: no\n", ""},
		"a plugin": {"before\n" + one,
			"IndexError: index 0 is out of bounds, in choose (choose.py:3), reduce (topk.py:29)"},
		"the last one":         {"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n" + one, "IndexError: index 0 is out of bounds, in choose (choose.py:3), reduce (topk.py:29)"},
		"a library":            {"Traceback (most recent call last):\n  File \"<frozen importlib._bootstrap>\", line 1, in x\nModuleNotFoundError: No module named 'grpc'\n", "ModuleNotFoundError: No module named 'grpc'"},
		"one that was handled": {one + "went on\n", ""},
		"cut off":              {strings.Split(one, "IndexError")[0], ""},
		"a blank line after": {one + "\n",
			"IndexError: index 0 is out of bounds, in choose (choose.py:3), reduce (topk.py:29)"},
	} {
		t.Run(name, func(t *testing.T) {
			var tb traceback
			for line := range strings.Lines(c.text) {
				tb.add(strings.TrimSuffix(line, "\n"))
			}
			if got := tb.String(); tb.what == "" && c.want != "" || tb.what != "" && got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}
