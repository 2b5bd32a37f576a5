package inspect

import (
	"hash/crc32"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksums are those of parameters in the memory of an engine, by their bits: CRC-32C, which processors compute some
// 10 GB a second of. Unequal parameters have equal ones once in 4 billion cases.
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
