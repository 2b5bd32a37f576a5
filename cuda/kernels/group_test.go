//go:build nvidia

package kernels

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/vec"
)

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name   string
		arrays int
		device func(q *Queue, g *Group)
		cpu    func(x [4][]float32)
	}{
		{"sgd", 2, func(q *Queue, g *Group) { q.SGDGroup(g, 0.1, 0.01) },
			func(x [4][]float32) { vec.SGD(x[0], x[1], 0.1, 0.01) }},
		{
			"momentum", 3, func(q *Queue, g *Group) { q.MomentumGroup(g, 0.1, 0.9, 0.01, true) },
			func(x [4][]float32) { vec.Momentum(x[0], x[1], x[2], 0.1, 0.9, 0.01, true) },
		},
		{"adam", 4, func(q *Queue, g *Group) { q.AdamGroup(g, step) },
			func(x [4][]float32) { vec.Adam(x[0], x[1], x[2], x[3], step) }},
		{
			"adagrad", 3, func(q *Queue, g *Group) { q.AdagradGroup(g, 0.1, 1e-10, 0) },
			func(x [4][]float32) { vec.Adagrad(x[0], x[1], x[2], 0.1, 1e-10) },
		},
	} {
		t.Run(c.name, rapid.MakeCheck(func(t *rapid.T) {
			b := begin(t)
			defer b.end()
			r := drawNumbers(t)
			sizes := rapid.SliceOfN(rapid.IntRange(1, 300), 1, 4).Draw(t, "sizes")
			var host, device [][4][]float32
			var parameters []Parameter
			for _, n := range sizes {
				at := offsets(t, c.arrays)
				var h, d [4][]float32
				for i := range c.arrays {
					if h[i] = r.floats(n); i >= 2 {
						h[i] = r.state(n)
					}
					d[i] = place(b, h[i], at[i])
				}
				host, device = append(host, h), append(device, d)
				parameters = append(parameters, Parameter{d[0], d[1], d[2], d[3]})
			}
			g := b.NewGroup(parameters)
			b.must(b.Err())
			before := b.Launches()
			c.device(b.Queue, g)
			if b.Launches() != before+1 {
				t.Fatalf("%d parameters took %d launches", len(sizes), b.Launches()-before)
			}
			for k := range host {
				c.cpu(host[k])
				for i := range c.arrays {
					same(t, "an array", fetched(b, device[k][i]), host[k][i])
				}
			}
			b.must(g.Close())
		}))
	}
}
