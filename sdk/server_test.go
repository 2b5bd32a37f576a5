package sdk

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
)

// A push that psbench did not create cannot be answered.
func TestPushesThatNobodyMade(t *testing.T) {
	err := Push{Batch: 3, Bucket: 1, Trainer: 2}.Answer(&tensor.Gradient{})
	const want = "the push of batch 3, bucket 1 of trainer 2 cannot be answered: it must be one that Receive was given, or of NewPush"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
