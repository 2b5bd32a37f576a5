//go:build nvidia

package device

// setting puts the device's clock on that of the process: an event whose time is known, and how fast the two
// clocks go. The device's drifts by a rate that only the next setting shows.
type setting struct {
	ns    int64   // when the event was, in ns of comm.Now, give or take errNS
	errNS int64   // half of the time in which the host saw it pass
	rate  float64 // ns of the host for each ns of the device
	offNS int64   // by how much it may misplace what came before the event, and after that of the setting before
}

// sureRate is how far off a measured rate may be that is taken: clocks of devices are off by tens of millionths.
const sureRate = 50e-6

// resolutionNS is what the driver resolves, and resolution what a float32 does, as which it gives a time.
const (
	resolutionNS = 500
	resolution   = 0x1p-24
)

// at is when something was, in ns of comm.Now, that the device saw so many ns after the event.
func (s setting) at(deviceNS float64) int64 { return s.ns + int64(deviceNS*s.rate) }

// next is the setting after s, whose event the device saw deviceNS after that of s, and the host at ns, give or take
// errNS. offNS is by how much times may be off that s told. The drift is steady, so they are off most at either end.
func (s setting) next(ns, errNS int64, deviceNS float64) (n setting, offNS int64) {
	n = setting{ns: ns, errNS: errNS, rate: s.rate}
	drifted := s.at(deviceNS) - ns
	if drifted < 0 {
		drifted = -drifted
	}
	offNS = max(s.errNS, drifted+errNS, s.offNS) + resolutionNS + int64(deviceNS*resolution)
	if float64(s.errNS+errNS) <= sureRate*deviceNS {
		n.rate = float64(ns-s.ns) / deviceNS
		n.offNS = max(s.errNS, errNS) // since it interpolates
	} else {
		n.offNS = max(s.errNS+drifted, errNS)
	}
	return n, offNS
}
