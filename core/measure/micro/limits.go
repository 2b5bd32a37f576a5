package micro

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/comm/limits"
)

// Names of limits.
const (
	memcpy      = "memcpy"
	memcpyDirty = "memcpy, dirty source"
	tcpOneWay   = "loopback TCP, one way"
	tcpBothWays = "loopback TCP, both ways"
)

// How long each limit is measured. Each limit is measured once before the rows and once after them.
const (
	copyTime     = 30 * time.Millisecond
	loopbackTime = 150 * time.Millisecond
)

// limitSamples holds the measured rates of each limit, in GB/s. The Limit keys have no rate themselves.
type limitSamples map[Limit][]float64

// measureLimits measures each limit once more. It measures the core's host, so the limits do not apply to rows of other
// hosts.
func (s *session) measureLimits(ctx context.Context) error {
	if len(cluster.AtCore(s.all)) < len(s.all) {
		return nil
	}
	for _, l := range s.plan.limits() {
		if err := ctx.Err(); err != nil {
			return err
		}
		rate, err := l.measure()
		if err != nil {
			return fmt.Errorf("%w; --no-limits measures none", err)
		}
		s.limits[l] = append(s.limits[l], rate)
	}
	return nil
}

// measureLinks records the speed of the links between hosts.
func (s *session) measureLinks(ctx context.Context) {
	links, warning := s.cluster.MeasureLinks(ctx)
	if s.result.HostLinks = links; warning != "" {
		s.result.Warnings = append(s.result.Warnings, warning)
	}
}

// limits lists the limits to measure. These are copies at the footprint of every size, by one core and by all cores,
// and loopback TCP.
func (p *Plan) limits() []Limit {
	var all []Limit
	cores := limits.Cores()
	if p.buckets() != nil {
		for _, size := range p.Sizes {
			footprint := p.footprint(size)
			if slices.ContainsFunc(all, func(l Limit) bool { return l.Bytes == footprint }) {
				continue
			}
			all = append(all, Limit{Name: memcpy, Bytes: footprint, Cores: 1})
			if cores > 1 {
				all = append(all,
					Limit{Name: memcpy, Bytes: footprint, Cores: cores},
					Limit{Name: memcpyDirty, Bytes: footprint, Cores: 1},
					Limit{Name: memcpyDirty, Bytes: footprint, Cores: cores})
			}
		}
	}
	trainers := p.World.Trainers
	return append(all, Limit{Name: tcpOneWay, Connections: trainers}, Limit{Name: tcpBothWays, Connections: trainers})
}

// footprint returns the memory, in bytes, that an operation on buckets of this size touches: the buckets of all
// trainers. Copies need a minimum number of cache lines per core.
func (p *Plan) footprint(size int) int { return max(p.World.Trainers*size, 256*limits.Cores()) }

func (l Limit) measure() (float64, error) {
	switch l.Name {
	case tcpOneWay, tcpBothWays:
		return limits.Loopback(l.Connections, l.Name == tcpBothWays, loopbackTime)
	default:
		return limits.Copy(limits.Copying{Footprint: l.Bytes, Cores: l.Cores, Dirty: l.Name == memcpyDirty}, copyTime)
	}
}

// addLimits adds the measured limits to the result. It also sets the share of its limit that each row reaches.
func (r *Result) addLimits(samples limitSamples) {
	if len(samples) == 0 {
		return
	}
	for _, l := range r.plan.limits() {
		if rates := samples[l]; len(rates) > 0 {
			for _, rate := range rates {
				l.GBps += rate / float64(len(rates))
			}
			r.Limits = append(r.Limits, l)
		}
	}
	for _, row := range r.Rows {
		r.addShare(row)
	}
}

// addShare compares a row with its limit, for rows on one host only. On shm the limit is memcpy by all cores, and the
// row counts bytes read plus bytes written. On other transports the limit is loopback TCP, and the row counts the bytes
// that all ranks receive.
func (r *Result) addShare(row *Row) {
	if row.across {
		return
	}
	name := tcpBothWays
	if row.Mapped {
		name = memcpyDirty
		if limits.Cores() < 2 {
			name = memcpy
		}
	}
	for _, l := range r.Limits {
		if l.Name != name ||
			name != tcpBothWays && (l.Bytes != r.plan.footprint(row.Bytes) || l.Cores != limits.Cores()) {
			continue
		}
		row.shareOf(l)
	}
}

// shareOf sets the share of limit l that the row reaches.
func (r *Row) shareOf(l Limit) {
	reached, cost := rate(r.volume.Received, r.P50US), 1.0
	if r.Mapped {
		reached, cost = rate(r.MovedBytes, r.P50US), 2
	}
	if reached > 0 && l.GBps > 0 {
		r.Share, r.ShareOf = reached/(cost*l.GBps), l.String()
	}
}

// shareAgain recomputes the share of a recorded row. It uses the limit that the row names.
func (r *Result) shareAgain(row *Row) {
	for _, l := range r.Limits {
		if l.String() == row.ShareOf {
			row.shareOf(l)
		}
	}
}

func (l Limit) String() string {
	if l.Bytes == 0 {
		return l.Name
	}
	return fmt.Sprintf("%s, %s, %d cores", l.Name, bytesize.Format(l.Bytes), l.Cores)
}
