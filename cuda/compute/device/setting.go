//go:build nvidia

package device

// setting puts the device's clock on that of the process: by an event whose time is known, and by how fast the two
// clocks go. The device's drifts by a rate that only the next setting shows. By how much times are found to be off is
// taken out of them within the next second, so that none is set back before one that has been told.
type setting struct {
	line
	offNS  int64   // by how much times at the event may be off
	before line    // by which times before the event were told
	lasted float64 // how long, in ns of the device
	wasNS  int64   // by how much times were off at its beginning
}

// line tells times from an event on.
type line struct {
	ns    int64   // when the host saw the event, in ns of comm.Now, give or take errNS
	errNS int64   // half of the time in which it saw it pass
	rate  float64 // ns of the host for each ns of the device
	// by how many ns the time of the event is off that is told, of which less and less is left for a second
	aside float64
}

// sureRate is how far off a measured rate may be that is taken: clocks of devices are off by tens of millionths.
const sureRate = 50e-6

// resolutionNS is what the driver resolves, and resolution what a float32 does, as which it gives a time.
const (
	resolutionNS = 500
	resolution   = 0x1p-24
)

// newSetting is the first one, by an event that the host saw at ns, give or take errNS.
func newSetting(ns, errNS int64, rate float64) setting {
	l := line{ns: ns, errNS: errNS, rate: rate}
	return setting{line: l, offNS: errNS, before: l}
}

// at is when something was, in ns of comm.Now, that the device saw so many ns after the event.
func (s *setting) at(deviceNS float64) int64 {
	if deviceNS < 0 {
		return s.before.at(s.lasted + deviceNS)
	}
	return s.line.at(deviceNS)
}

func (l *line) at(deviceNS float64) int64 {
	left := min(1, max(0, 1-deviceNS/settingNS))
	return l.ns + int64(deviceNS*l.rate+l.aside*left)
}

// next is the setting after s, whose event the device saw deviceNS after that of s, and the host at ns, give or take
// errNS. offNS is by how much times may be off that s told: drift is steady, so that is most at either end, or was in
// the setting before, of which s told the last times.
func (s *setting) next(ns, errNS int64, deviceNS float64) (n setting, offNS int64) {
	n = setting{line: line{ns: ns, errNS: errNS, rate: s.rate}, before: s.line, lasted: deviceNS, wasNS: s.offNS}
	if float64(s.errNS+errNS) <= sureRate*deviceNS {
		n.rate = float64(ns-s.ns) / deviceNS
	}
	aside := s.at(deviceNS) - ns
	n.aside = float64(aside)
	n.offNS = max(aside, -aside) + errNS
	return n, max(s.wasNS, s.offNS, n.offNS) + resolutionNS + int64(deviceNS*resolution)
}
