package process

import (
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// samplesPerReply keeps a reply of Collect well under a megabyte.
const samplesPerReply = 16384

// CollectGrace is how long Collect waits for a pass that failed to end. What is
// collected while it still runs may end in the middle of an iteration.
const CollectGrace = time.Second

// CollectSeries sends the recorder's series.
func (st *Process) CollectSeries(send func(*proto.CollectReply) error) error {
	return SendSeries(st.Recorder.All(), send)
}

// SendSeries sends series in pieces.
func SendSeries(all []sdk.Snapshot, send func(*proto.CollectReply) error) error {
	for i := range all {
		var err error
		piece := &proto.Series{Type: all[i].Type, Name: all[i].Name}
		flush := func() {
			if err == nil && len(piece.StartNs) > 0 {
				err = send(&proto.CollectReply{Series: []*proto.Series{piece}})
			}
			piece = &proto.Series{Type: piece.Type, Name: piece.Name}
		}
		all[i].Each(func(m sdk.Measurement) {
			piece.KeyA = append(piece.KeyA, m.Key.A)
			piece.KeyB = append(piece.KeyB, m.Key.B)
			piece.StartNs = append(piece.StartNs, m.StartNS)
			piece.DurationNs = append(piece.DurationNs, m.DurationNS)
			if len(piece.StartNs) == samplesPerReply {
				flush()
			}
		})
		if flush(); err != nil {
			return err
		}
	}
	return nil
}

// Facts asks a part for what it has to report.
func Facts(into map[string]string, part any) map[string]string {
	if d, ok := part.(sdk.Describer); ok {
		if into == nil {
			into = map[string]string{}
		}
		for k, v := range d.Facts() {
			into[k] = v
		}
	}
	return into
}
