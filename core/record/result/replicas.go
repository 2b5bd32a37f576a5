package result

// Replicas says whether trainers that exchange gradients ended with equal parameters, bit by bit.
type Replicas struct {
	// Sets are the ranks of the trainers by the sets that must end equal. Every trainer is in one.
	Sets [][]int `json:"sets"`
	// MayDiffer is why trainers may differ by declaration: each is a set of its own then.
	MayDiffer string `json:"may_differ,omitempty"`
	// Unequal are those that differ from the first one of their set; Warnings say it too.
	Unequal []UnequalReplica `json:"unequal,omitempty"`
}

// UnequalReplica is a trainer whose parameters differ from those of another one, at rank From.
type UnequalReplica struct {
	Rank int `json:"rank"`
	From int `json:"from"`
	// Parameters is how many parameters of Of differ, and Parameter the first of them.
	Parameters int    `json:"parameters"`
	Of         int    `json:"of"`
	Parameter  string `json:"parameter"`
}
