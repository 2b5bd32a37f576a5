package protocol

import (
	"encoding/binary"
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// Data represents data in a companion. The companion loads all samples into shared memory, and Data
// copies them once. Close ends the link and releases the memory. Origin needs the link.
type Data struct {
	link   *link
	limits room
	in     sdk.InputSpec
}

var _ sdk.FittedData = (*Data)(nil)

// The two lists that data loads: training samples and held-out samples.
const (
	loadedTraining = iota
	loadedHeldOut
	loadedLists
)

// NewData connects to a companion with data and measures the median round trip of a no-op call.
func NewData(p *process.Process, peer process.Peer) (d *Data, tripNS int64, err error) {
	d = &Data{limits: room{role: roleLimits}}
	announces := map[role]int{roleLoadedFloatTargets: loadedLists}
	for r := roleLoadedIndices; r <= roleLoadedBatches; r++ {
		announces[r] = loadedLists
	}
	if d.link, err = dial(p, peer, kind{announces: announces}); err != nil {
		return nil, 0, err
	}
	tripNS, err = d.link.ping()
	return d, tripNS, err
}

// Fit implements sdk.FittedData.
func (d *Data) Fit(in sdk.InputSpec) { d.in = in }

// Load implements sdk.Data.
func (d *Data) Load() (*sdk.Samples, error) {
	var limits []byte
	for _, n := range append([]int{d.in.Rows, d.in.Features, d.in.Classes, d.in.Targets, d.in.LookedUp},
		d.in.Tables...) {
		limits = binary.LittleEndian.AppendUint64(limits, uint64(n)) // #nosec G115 -- the bits of a count
	}
	if err := d.limits.put(d.link, limits); err != nil {
		return nil, err
	}
	if err := d.link.show(roleLimits, 0, d.limits.at[:len(limits)], lineBytes); err != nil {
		return nil, err
	}
	h, err := d.link.call(&wire.Header{Op: opLoad})
	if err != nil {
		return nil, err
	}
	if h.Arg2 < 0 || h.Arg2 > math.MaxInt32 {
		return nil, d.link.wrong("answered load with targets of %d numbers, which cannot be", h.Arg2)
	}
	samples := d.loaded(loadedTraining, int(h.Arg2))
	switch h.Arg {
	case 0:
	case 1:
		samples.HeldOut = d.loaded(loadedHeldOut, int(h.Arg2))
	default:
		return nil, d.link.wrong(
			"answered load with %d, which must be 1 if there are held-out samples and 0 if there are none", h.Arg)
	}
	return samples, nil
}

// loaded copies the samples that the part has announced. width is the target width.
func (d *Data) loaded(list int32, width int) *sdk.Samples {
	s := &sdk.Samples{Origin: func(sample, position int) string { return d.origin(list, sample, position) }}
	for r, to := range map[role]*[]int64{roleLoadedIndices: &s.Indices, roleLoadedOffsets: &s.Offsets,
		roleLoadedTargets: &s.Targets} {
		*to = tensor.ViewInt64(copied(d.link.given(r, list)))
	}
	s.Features = tensor.ViewFloat32(copied(d.link.given(roleLoadedFeatures, list)))
	s.FloatTargets, s.TargetWidth = tensor.ViewFloat32(copied(d.link.given(roleLoadedFloatTargets, list))), width
	for _, n := range tensor.ViewInt64(copied(d.link.given(roleLoadedBatches, list))) {
		s.Batches = append(s.Batches, int(n))
	}
	return s
}

// copied returns a copy of memory that is aligned for any element type; nil for empty memory.
func copied(memory []byte) []byte {
	if len(memory) == 0 {
		return nil
	}
	words := make([]int64, (len(memory)+7)/8)
	all := tensor.Int64Bytes(words)
	copy(all, memory)
	return all[:len(memory)]
}

// origin asks the part where a value came from. origin returns "" if the part does not say.
func (d *Data) origin(list int32, sample, position int) string {
	h, err := d.link.call(&wire.Header{Op: opOrigin, Arg: int64(sample), Arg2: int64(position), Bucket: list})
	if err != nil || h.Payload == 0 {
		return ""
	}
	return string(d.link.text)
}

// Close ends the link and releases the samples that the part has loaded.
func (d *Data) Close() error {
	err := d.link.Close()
	for _, s := range d.link.segments {
		_ = s.Close() // otherwise the end of the process would release it
	}
	return err
}
