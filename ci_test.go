package psbench

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// From a test log, the CI script prints only the failures and their causes.
func TestFailuresAreWhatIsPrinted(t *testing.T) {
	log := `=== RUN   TestGood
    a_test.go:3: fine
    a_test.go:3: [rapid] OK, passed 100 tests (1ms)
--- PASS: TestGood (0.00s)
=== RUN   TestBad
=== RUN   TestBad/sub
=== PAUSE TestBad/sub
=== RUN   TestBad/good
=== CONT  TestBad/sub
    a_test.go:5: [rapid] flaky test, can not reproduce a failure
        Traceback: nowhere
=== CONT  TestBad/good
    a_test.go:6: all is well
=== NAME  TestBad/sub
    a_test.go:5: [rapid] draw size: 5
    a_test.go:5: trainer0 waited 20 s
--- FAIL: TestBad (0.00s)
    --- PASS: TestBad/good (0.03s)
    --- FAIL: TestBad/sub (0.03s)
=== RUN   TestSkipped
    a_test.go:8: no
--- SKIP: TestSkipped (0.00s)
FAIL
FAIL	x/a	0.030s
=== RUN   TestFine
    b_test.go:3: noise
--- PASS: TestFine (0.00s)
PASS
ok  	x/b	0.014s
=== RUN   TestPanics
    c_test.go:4: before
--- FAIL: TestPanics (0.00s)
panic: it broke [recovered, repanicked]
FAIL	x/c	0.014s
# x/d
d.go:3: undefined: y
FAIL	x/d [build failed]
?   	x/e	[no test files]
FAIL
make: *** [Makefile:41: test] Error 1
`
	want := `    a_test.go:5: [rapid] flaky test, can not reproduce a failure
        Traceback: nowhere
    a_test.go:5: trainer0 waited 20 s
--- FAIL: TestBad (0.00s)
    --- FAIL: TestBad/sub (0.03s)
FAIL	x/a	0.030s
    c_test.go:4: before
--- FAIL: TestPanics (0.00s)
panic: it broke [recovered, repanicked]
FAIL	x/c	0.014s
# x/d
d.go:3: undefined: y
FAIL	x/d [build failed]
make: *** [Makefile:41: test] Error 1
`
	cmd := exec.CommandContext(t.Context(), ".ci/failures")
	cmd.Stdin = strings.NewReader(log)
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}
