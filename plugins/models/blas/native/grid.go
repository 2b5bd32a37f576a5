package native

import "math"

const (
	// fetch is the cost of fetching or packing an element, in multiplications.
	fetch = 8
	// maxRectangles is the largest number of rectangles per worker.
	maxRectangles = 4
)

// grid cuts c into rectangles of equal size. Those at the edges may be smaller.
type grid struct{ down, across, height, width int }

// gridOf chooses a grid for m by n elements. Workers take rectangles as they become free, because a worker may
// start late or share its core. More rectangles shorten the wait for the last worker, but cause more data to be
// fetched twice.
func gridOf(m, n, workers, columns int) grid {
	best := grid{1, 1, m, n}
	if workers == 1 {
		return best
	}
	least := math.Inf(1)
	for down := 1; down <= maxRectangles*workers; down *= 2 {
		for across := 1; down*across <= maxRectangles*workers; across *= 2 {
			height, width := ceil(m, down), ceil(ceil(n, across), columns)*columns
			g := grid{ceil(m, height), ceil(n, width), height, width}
			each := float64(height)*float64(width) + fetch*(float64(height)+float64(width))
			rounds := max(1, float64(g.down*g.across)/float64(workers))
			if time := (rounds + 0.5) * each; time < least {
				best, least = g, time
			}
		}
	}
	return best
}

// ceil returns x / y, rounded up.
func ceil(x, y int) int { return (x + y - 1) / y }
