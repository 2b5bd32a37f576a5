package launchers

import "errors"

// torchrun knows a worker of torchrun by what that alone sets. RANK and WORLD_SIZE by themselves are set by
// many, and left in many shells.
func torchrun(r *reader) (*Place, string, error) {
	_, elastic := r.text("TORCHELASTIC_RUN_ID")
	_, local := r.text("LOCAL_RANK")
	_, ranked := r.text("RANK")
	switch {
	case !elastic && ranked:
		return nil, "RANK is set but TORCHELASTIC_RUN_ID is not, and others set the former, too", nil
	case !elastic:
		return nil, "TORCHELASTIC_RUN_ID is not set", nil
	case !local || !ranked:
		return nil, "", errors.New("TORCHELASTIC_RUN_ID is set but RANK and LOCAL_RANK are not both, as they are for a worker of torchrun")
	}
	p, err := r.place("WORLD_SIZE", "RANK", "LOCAL_RANK")
	if err != nil {
		return nil, "", err
	}
	// An agent on each node starts the workers there; whoever started the agents counts those.
	size, err := r.number("GROUP_WORLD_SIZE")
	if err != nil {
		return nil, "", err
	}
	rank, err := r.number("GROUP_RANK")
	if err != nil {
		return nil, "", err
	}
	if size > 0 && rank >= 0 {
		p.Agents = &Agents{Size: size, Rank: rank}
	}
	return p, "a worker of torchrun", nil
}
