//go:build nvidia

package device

// setting converts the device's clock to the process's clock. setting uses one event whose time is known and the
// ratio of the two clocks. The device's clock drifts at a rate that only the next setting reveals. A detected error
// is removed gradually over the next second, so that no converted time goes back before an earlier one.
type setting struct {
	line
	offNS  int64   // possible error of a time at the event
	before line    // conversion of times before the event
	lasted float64 // how long before was in use, in ns of the device
	wasNS  int64   // possible error when before began
}

// line converts times after an event.
type line struct {
	ns    int64   // time at which the host saw the event, in ns of comm.Now, ± errNS
	errNS int64   // half of the interval in which the host saw the event
	rate  float64 // ns of the host for each ns of the device
	// deliberate error of the event's converted time in ns; it decreases to 0 within a second
	aside float64
}

// sureRate is the largest error of an accepted rate. Device clocks are off by tens of millionths.
const sureRate = 50e-6

// resolutionNS is the driver's resolution. resolution is that of a float32, the type of the driver's times.
const (
	resolutionNS = 500
	resolution   = 0x1p-24
)

// newSetting returns the first setting. The host saw the event at ns, ± errNS.
func newSetting(ns, errNS int64, rate float64) setting {
	l := line{ns: ns, errNS: errNS, rate: rate}
	return setting{line: l, offNS: errNS, before: l}
}

// at returns the time in ns of comm.Now that is so many ns of the device after the event.
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

// next returns the setting that follows s. The device saw the new event deviceNS after the event of s. The host saw
// it at ns, ± errNS. offNS is the largest possible error of the times converted by s. The drift is steady, so this
// error occurs at either end, or it stems from the previous setting for the last times that s converted with it.
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
