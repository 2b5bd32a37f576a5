package launchers

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/core/plan/config/option"
)

// torchrun recognises a worker by variables that only torchrun sets. RANK and WORLD_SIZE are not enough, because many
// launchers set them, and many shells still have old values.
func torchrun(r *reader) (*Place, string, error) {
	_, elastic := r.text("TORCHELASTIC_RUN_ID")
	_, local := r.text("LOCAL_RANK")
	_, ranked := r.text("RANK")
	switch {
	case !elastic && ranked:
		return nil, "RANK is set but TORCHELASTIC_RUN_ID is not, and other programs set RANK, too", nil
	case !elastic:
		return nil, "TORCHELASTIC_RUN_ID is not set", nil
	case !local || !ranked:
		return nil, "",
			errors.New(
				"TORCHELASTIC_RUN_ID is set but RANK and LOCAL_RANK are not both, as they are for a worker of torchrun")
	}
	p, err := r.place("WORLD_SIZE", "RANK", "LOCAL_RANK")
	if err != nil {
		return nil, "", err
	}
	r.crowd(p, "LOCAL_WORLD_SIZE")
	// An agent on each node starts the workers there. The launcher that started the agents counts the agents.
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

// torchDistributed recognises a task by the variables of torch.distributed. A PyTorchJob sets them in its pods, where
// variables cannot be left over. Outside pods, psbench trusts these variables only if the user also gave a core address
// or a secret.
func torchDistributed(r *reader) (*Place, string, error) {
	const size, rank, master = "WORLD_SIZE", "RANK", "MASTER_ADDR"
	_, elastic := r.text("TORCHELASTIC_RUN_ID")
	_, sized := r.text(size)
	_, ranked := r.text(rank)
	_, met := r.text(master)
	_, pod := r.text("KUBERNETES_SERVICE_HOST")
	_, core := r.text(option.CoreVariable)
	secret := r.variables[option.SecretVariable] != "" // not recorded, because recorded values are shown
	switch {
	case elastic:
		return nil, "torchrun has set them", nil
	case !sized || !ranked || !met:
		return nil, fmt.Sprintf("%s, %s and %s are not all set", rank, size, master), nil
	case !pod && !core && !secret:
		return nil, fmt.Sprintf("%s, %s and %s are set, but outside a pod and without %s they may be left over from others",
			rank, size, master, option.SecretVariable), nil
	}
	p, err := r.place(size, rank, "LOCAL_RANK")
	if err != nil {
		return nil, err.Error(), nil
	}
	// A PyTorchJob may count several workers per pod, but psbench is one task in each pod.
	if nodes, node := r.count("PET_NNODES"), r.count("PET_NODE_RANK"); nodes > 0 && node >= 0 &&
		(nodes != p.Size || node != p.Rank) {
		p.Size, p.Rank, p.From.Size, p.From.Rank = nodes, node, "PET_NNODES", "PET_NODE_RANK"
	}
	if p.Local >= p.Size {
		p.Local, p.From.Local = -1, ""
	}
	if err := p.check(); err != nil {
		return nil, err.Error(), nil
	}
	return p, "a task with the variables of torch.distributed", nil
}
