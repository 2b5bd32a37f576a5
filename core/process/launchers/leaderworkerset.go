package launchers

import (
	"fmt"

	"github.com/psbench/psbench/internal/quote"
)

// leaderWorkerSet recognises a pod of a group of a LeaderWorkerSet. The leader has rank 0.
func leaderWorkerSet(r *reader) (*Place, string, error) {
	const leader, size, index = "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"
	if _, set := r.text(leader); !set {
		if name, value := r.first(size, index); name != "" {
			return nil, "", fmt.Errorf("%s is %s but %s is not set: LeaderWorkerSet sets it in every pod of a group",
				name, quote.Word(value), leader)
		}
		return nil, leader + " is not set", nil
	}
	if _, set := r.text(index); !set {
		return nil, "",
			fmt.Errorf("%s is set but %s is not: LeaderWorkerSet sets it from 0.6 on, before that a manifest must",
				leader, index)
	}
	p, err := r.place(size, index, "")
	return p, "a pod of a LeaderWorkerSet's group", err
}
