package rollcall

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// Check returns an error if the tasks do not fit together or if ranks are missing. The first task must be rank 0.
func Check(tasks []Task, missing []string) error {
	first := tasks[0]
	if len(missing) > 0 {
		return fmt.Errorf("%s counts %d tasks, but nothing has come from rank %s", first.name(), first.Size,
			strings.Join(missing, ", "))
	}
	type seat struct {
		host  string
		local int
	}
	seats := map[seat]Task{}
	for _, t := range tasks {
		at := seat{t.Host, t.Local}
		other, taken := seats[at]
		switch {
		case t.Size != first.Size:
			return fmt.Errorf("%s counts %d tasks, but %s counts %d", t.name(), t.Size, first.name(), first.Size)
		case t.Failure != "":
			return fmt.Errorf("%s cannot read its psbench, so psbench cannot compare it with that of %s: %s", t.name(),
				first.name(), quote.Message(t.Failure))
		case t.Binary != first.Binary || t.Version != first.Version:
			return fmt.Errorf("%s has another psbench than %s: %s and %s; give all hosts the same file", t.name(),
				first.name(), t.build(), first.build())
		case taken && t.Local >= 0:
			return fmt.Errorf("%s and %s both are local rank %d there", other.name(), t.name(), t.Local)
		}
		seats[at] = t
	}
	return nil
}

// build describes a task's psbench binary by its version and the first digits of its checksum.
func (t Task) build() string {
	const digits = 12
	return fmt.Sprintf("%s with SHA-256 %s", quote.Word(cmp.Or(t.Version, "none")),
		quote.Word(cmp.Or(t.Binary[:min(digits, len(t.Binary))], "none")))
}
