package cluster

import "github.com/psbench/psbench/comm"

// CheckLinks reports that a fabric cannot join processes from where they run. Memory that
// they map needs one clock, because its slots bear stamps.
func CheckLinks[M member](fabric *comm.Fabric, members []M) error {
	what := "what " + fabric.Name + " joins"
	for _, m := range members {
		if fabric.OnOneHost() {
			if err := RequireHost(what, members[0], m); err != nil {
				return err
			}
		}
		if fabric.Maps() {
			if err := RequireClock(what, members[0], m); err != nil {
				return err
			}
		}
	}
	return nil
}
