package stack

import (
	"os"
	"sync"
	"testing"
	"time"
)

// A goroutine inherits the mark of the goroutine that started it, also through others. The environment is unchanged
// afterwards.
func TestMarksAreInherited(t *testing.T) {
	t.Setenv("GODEBUG", "madvdontneed=1")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	marked := map[Mark]bool{}
	for _, mark := range []Mark{ForPart, ForPsbench} {
		mark.Run(func() {
			wg.Go(func() {
				wg.Go(func() { <-stop })
			})
		})
	}
	wg.Go(func() { <-stop })
	for range 1000 { // until all goroutines have started
		clear(marked)
		for _, g := range All() {
			marked[g.Mark] = true
		}
		if len(marked) == 3 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(stop)
	wg.Wait()
	if len(marked) != 3 {
		t.Errorf("goroutines have the marks %v", marked)
	}
	if got := os.Getenv("GODEBUG"); got != "madvdontneed=1" {
		t.Errorf("GODEBUG is %s", got)
	}
}
