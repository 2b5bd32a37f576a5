package cluster

import "github.com/psbench/psbench/comm/fabric"

// CheckLinks reports that a fabric cannot join processes from where they run. Memory that
// they map needs one clock, because its slots bear stamps.
func CheckLinks[M member](fabric *fabric.Fabric, members []M) error {
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
