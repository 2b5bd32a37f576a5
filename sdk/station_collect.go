package sdk

import (
	"time"

	"github.com/psbench/psbench/sdk/proto"
)

// samplesPerReply keeps a reply of Collect well under a megabyte.
const samplesPerReply = 16384

// collectGrace is how long Collect waits for a pass that failed to end. What is
// collected while it still runs may end in the middle of an iteration.
const collectGrace = time.Second

// collectSeries sends the recorder's series.
func (st *station) collectSeries(send func(*proto.CollectReply) error) error {
	return sendSeries(st.recorder.All(), send)
}

// sendSeries sends series in pieces.
func sendSeries(all []Snapshot, send func(*proto.CollectReply) error) error {
	for i := range all {
		var err error
		piece := &proto.Series{Type: all[i].Type, Name: all[i].Name}
		flush := func() {
			if err == nil && len(piece.StartNs) > 0 {
				err = send(&proto.CollectReply{Series: []*proto.Series{piece}})
			}
			piece = &proto.Series{Type: piece.Type, Name: piece.Name}
		}
		all[i].Each(func(m Measurement) {
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

// facts asks a part for what it has to report.
func facts(into map[string]string, part any) map[string]string {
	if d, ok := part.(Describer); ok {
		if into == nil {
			into = map[string]string{}
		}
		for k, v := range d.Facts() {
			into[k] = v
		}
	}
	return into
}
