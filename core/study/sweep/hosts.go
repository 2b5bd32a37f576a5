package sweep

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/process/team"
	"github.com/psbench/psbench/internal/quote"
)

// CheckHosts returns an error if the cells run several psbenches but a line of the hosts names a single psbench.
func (p *Plan) CheckHosts() error {
	programs := map[string]bool{}
	for _, i := range p.Running() {
		programs[p.Cells[i].Binary] = true
	}
	i := slices.IndexFunc(p.Hosts, func(line string) bool { return strings.Contains(line, " psbench=") })
	if len(programs) < 2 || i < 0 {
		return nil
	}
	return fmt.Errorf("--%s: %s names one psbench, but the cells have %d, which each host must have at the path that they have here: leave psbench= out",
		team.HostsFlag, p.Hosts[i], len(programs))
}

// CheckTasks returns an error if cells differ in a property that all tasks of a launcher share: the program, the
// interface or the registry files.
func (p *Plan) CheckTasks(program, network string) error {
	registry := p.Cells[p.Baseline].Config["registry"]
	for _, i := range p.Running() {
		c := p.Cells[i]
		wants, _ := c.Config["interface"].(string) // "" if not given
		switch {
		case c.Binary != program:
			return fmt.Errorf("cell %s is run by %s, but the tasks of the launcher are of one psbench, %s: have runs go over hosts by --%s FILE",
				c.Name, quote.Word(c.Binary), quote.Word(program), team.HostsFlag)
		case wants != network:
			return fmt.Errorf(
				"cell %s has the interface %q, but the tasks of the launcher have %q: give one to all by --interface",
				c.Name, wants, network)
		case !reflect.DeepEqual(c.Config["registry"], registry):
			return fmt.Errorf("cell %s has other registry files than the baseline, but the tasks of the launcher have the same for all: have runs go over hosts by --%s FILE",
				c.Name, team.HostsFlag)
		}
	}
	return nil
}
