package group

// accumulates reports whether s sums 16-bit elements. Each addition of a pair would round, so the sum is kept in
// float32.
func (g *group) accumulates(s *step) bool {
	t := s.op.Spec.Type
	return !t.Is32() && len(g.members) > 1 && t.Arithmetic().Wide != nil
}

// accumulate makes out the sum of parts, in their order, times the step's factor. It rounds once. Out may be one of
// the parts. A block of parts is read while the block's sum, in float32, stays in the first-level cache.
func (g *group) accumulate(s *step, out []float32) {
	wide, factor := s.op.Spec.Type.Arithmetic().Wide, s.factor()
	for from := 0; from < len(out); from += len(g.block) / 2 {
		to := min(from+len(g.block)/2, len(out))
		sum := g.block[:2*(to-from)]
		wide.Widen(sum, g.parts[0][from:to])
		for _, part := range g.parts[1:] {
			wide.Add(sum, part[from:to])
		}
		wide.Narrow(out[from:to], factor, sum)
	}
}
