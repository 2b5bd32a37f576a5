package points

import (
	"fmt"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// inWorld carries the point out in ranks of this process.
func (p Point) inWorld(s *Subject) error {
	return within(s.timeout(), func() error {
		made, err := s.build(s.settings())
		if err != nil {
			return err
		}
		parts := sdk.TrainerParts{Engine: engine.Host, Recorder: &sdk.Recorder{}}
		criterion, ok := made.(sdk.Criterion)
		if !ok {
			return fmt.Errorf("a %T is no criterion", made)
		}
		parts.Criterion = criterion
		r := NewRank(s, parts, 0, 1)
		for r.Pass = range max(1, p.Passes) {
			if err := p.Carry(r); err != nil {
				return err
			}
		}
		return nil
	})
}
