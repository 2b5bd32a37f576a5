package convert

import (
	"fmt"

	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk/proto"
)

func headToProto(h metric.Head) *proto.Head {
	return &proto.Head{Type: h.Type, Name: h.Name, Unit: h.Unit}
}

func headFromProto(h *proto.Head) metric.Head {
	return metric.Head{Type: h.GetType(), Name: h.GetName(), Unit: h.GetUnit()}
}

func counterFromProto(c *proto.Counter) (record.Piece, error) {
	out := &record.Counter{Head: headFromProto(c.GetHead()), Value: c.GetValue()}
	return numbers(out, "counter", out.Head, metric.CheckCount(out.Value))
}

func gaugeFromProto(g *proto.Gauge) (record.Piece, error) {
	out := &record.Gauge{Head: headFromProto(g.GetHead())}
	var err error
	out.Observations, err = packed.ChunkOf[packed.Observation](g.GetObservations())
	return numbers(out, "gauge", out.Head, err)
}

func histogramFromProto(h *proto.Histogram) (record.Piece, error) {
	out := &record.Histogram{
		Head:      headFromProto(h.GetHead()),
		Histogram: metric.Histogram{Bounds: h.GetBounds(), Counts: h.GetCounts(), NaN: h.GetNan()},
	}
	return numbers(out, "histogram", out.Head, out.Check())
}

// numbers returns piece. numbers returns an error if the unit is invalid or if err is set.
func numbers(piece record.Piece, kind string, h metric.Head, err error) (record.Piece, error) {
	if unit := metric.CheckUnit(h.Unit); unit != nil {
		err = unit
	}
	if err != nil {
		return nil, fmt.Errorf("a %s %s that cannot be: %w", kind, metric.Title(h), err)
	}
	return piece, nil
}
