package words

import (
	"fmt"
	"io"
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
)

// BenchmarkText writes a study of 1000 cells with 10 runs each.
func BenchmarkText(b *testing.B) {
	var values []string
	for i := range 250 {
		values = append(values, fmt.Sprint(i))
	}
	s := modeltest.Made([]model.Axis{{Name: "ntrainer", Values: values},
		{Name: "server", Values: []string{"a", "b", "c", "d"}}}, func(v []string) modeltest.Plot {
		return modeltest.Plot{Throughput: 1000 + float64(len(v[0])*100+int(v[1][0])), Noise: 0.01, Loss: 0.3, Runs: 10,
			Iterations: 100}
	})
	for b.Loop() {
		if err := WriteStudy(io.Discard, s, Options{Full: true}); err != nil {
			b.Fatal(err)
		}
	}
}
