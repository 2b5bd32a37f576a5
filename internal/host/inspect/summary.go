package inspect

import (
	"fmt"
	"hash/crc32"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// summaryHead is the number of elements that a summary shows for each tensor.
const summaryHead = 8

// Summarize describes how training changed the values of the parameters. To compare, Summarize
// calls initialize, which overwrites the final values in place with the initial ones. The values
// lie in the memory of e.
func Summarize(e engine.Engine, specs []sdk.ParameterSpec, values []tensor.Tensor,
	initialize func() error) ([]record.Summary, error) {
	if len(specs) != len(values) {
		return nil, fmt.Errorf("%d parameters have %d values", len(specs), len(values))
	}
	final := make([][]float32, len(values))
	for k, v := range values {
		final[k] = make([]float32, len(v.Data))
		if err := engine.Out(e, final[k], v.Data); err != nil {
			return nil, err
		}
	}
	if err := initialize(); err != nil {
		return nil, err
	}
	var room []float32
	out := make([]record.Summary, len(specs))
	for k, v := range values {
		initial, err := engine.View(e, &room, v.Data)
		if err != nil {
			return nil, err
		}
		s := record.Summary{Name: specs[k].Name, Elements: len(v.Data)}
		for i, first := range initial {
			delta := float64(final[k][i]) - float64(first)
			s.DeltaSum += delta
			s.DeltaSumSq += delta * delta
			if i < summaryHead {
				s.DeltaHead = append(s.DeltaHead, delta)
				s.Head = append(s.Head, float64(final[k][i]))
			}
		}
		out[k] = s
	}
	return out, nil
}

// CollectHeld examines the parameters of a server that is a Holder. CollectHeld sends non-finite
// values and, if summarizing is set, summaries. The parameters lie in the memory of e. Summarizing
// resets the server.
func CollectHeld(e engine.Engine, server interface{ Reset() }, summarizing bool, send record.Send) error {
	holder, ok := server.(sdk.Holder)
	if !ok {
		return nil
	}
	specs, values := holder.Held()
	var found NonFinite
	if err := found.Inspect(e, specs, values); err != nil {
		return err
	}
	if found.Parameter != "" {
		if err := send(found.Record()); err != nil {
			return err
		}
	}
	if !summarizing {
		return nil
	}
	summaries, err := Summarize(e, specs, values, func() error { server.Reset(); return nil })
	if err != nil {
		return err
	}
	return record.SendAll(send, summaries)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksums returns the CRC-32C of each parameter in the memory of an engine. A processor computes
// about 10 GB per second. Unequal parameters have equal checksums once in 4 billion cases.
func Checksums(e engine.Engine, values []tensor.Tensor) ([]uint32, error) {
	var room []float32
	out := make([]uint32, len(values))
	for k, v := range values {
		seen, err := engine.View(e, &room, v.Data)
		if err != nil {
			return nil, err
		}
		out[k] = crc32.Checksum(tensor.Float32Bytes(seen), castagnoli)
	}
	return out, nil
}
