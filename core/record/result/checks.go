package result

// Checks is what was recomputed, after the pass, of what links and servers made of payloads. Where
// something was wrong the run is not complete, and its error names it.
type Checks struct {
	// Operations are those that the links of all ranks carried out.
	Operations int64 `json:"operations"`
	// Slices of their payloads, of at most 4 KiB, were kept and compared, with so many elements.
	Slices   int64 `json:"slices"`
	Elements int64 `json:"elements"`
	// Iterations of which there is such a slice.
	Iterations int64 `json:"iterations"`
	// SpentMS is the time that the rank which took longest spent on keeping them in the pass, and
	// Share what that is of the pass.
	SpentMS float64 `json:"spent_ms"`
	Share   float64 `json:"share"`
	// Unchecked is what could not be recomputed.
	Unchecked []Unchecked `json:"unchecked,omitempty"`
}

// Unchecked is something of a run that could not be recomputed.
type Unchecked struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}
