package cluster

import "github.com/psbench/psbench/comm"

// CheckLinks reports that a transport cannot join processes from where they run. Shm needs
// one host and, because its slots bear stamps, one clock.
func CheckLinks[M member](t comm.Transport, members []M) error {
	what := "what " + string(t) + " joins"
	for _, m := range members {
		if t == comm.Shm || t == comm.Unix {
			if err := RequireHost(what, members[0], m); err != nil {
				return err
			}
		}
		if t == comm.Shm {
			if err := RequireClock(what, members[0], m); err != nil {
				return err
			}
		}
	}
	return nil
}
