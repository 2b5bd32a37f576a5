package run

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/sdk"
)

// psbench checks a process's description of its model before using it. The error names the process.
func TestCheckModel(t *testing.T) {
	shaped := func(shape ...int) *layout.Model {
		return &layout.Model{Parameters: []sdk.ParameterSpec{{Name: "x", Shape: shape}}}
	}
	for want, model := range map[string]*layout.Model{
		"trainer0.model: it did not describe its model":     nil,
		"trainer0.model: parameter x has shape [-4 -4]: ":   shaped(-4, -4),
		"trainer0.model: parameter x has shape [65536 0]: ": shaped(65536, 0),
		"": shaped(2, 3),
	} {
		t.Run(want, func(t *testing.T) {
			p := &process{Member: &cluster.Member{Name: "trainer0.model"}, model: model}
			err := p.checkModel()
			if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("it gives %v, want %q", err, want)
			}
		})
	}
}
