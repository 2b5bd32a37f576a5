package op

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
)

// RequireDense refuses a collective that deals elements out by their place: rows of a
// sparse gradient have none.
func RequireDense(self, what string, b *tensor.Bucket) error {
	if b.Sparse {
		return fmt.Errorf("%s cannot run %s of bucket %d: it is sparse, and its rows are not dealt out by place", self, what, b.Index)
	}
	return nil
}
