package tensor

// A dense bucket lies in words of 4 bytes, whatever its type, and is cut between words: groups and links move words.
// Shorter elements fill the last word with what is of no account; an 8-byte element lies in two.

// Words returns how many words a dense bucket takes.
func (spec *BucketSpec) Words() int {
	if spec.Type.Is32() {
		return spec.Elements
	}
	return spec.WordOf(spec.Elements)
}

// WordOf returns the number of words that the first n elements take.
func (spec *BucketSpec) WordOf(n int) int { return (n*spec.Type.Bytes() + 3) / 4 }

// grain is the least number of elements that fill whole words.
func (spec *BucketSpec) grain() int { return max(1, 4/max(1, spec.Type.Bytes())) }

// Shard returns the elements of a member's part when a group scatters the bucket: the function Shard, but for
// elements shorter than a word, whose parts are whole words.
func (spec *BucketSpec) Shard(members, position int) (from, to int) {
	grain := spec.grain()
	from, to = Shard((spec.Elements+grain-1)/grain, members, position)
	return min(from*grain, spec.Elements), min(to*grain, spec.Elements)
}

// Block returns the elements of a member's part when a group exchanges equal parts of the bucket: the function
// Block, but for elements shorter than a word, whose parts are whole words.
func (spec *BucketSpec) Block(members, position int) (from, to int) {
	grain := spec.grain()
	from, to = Block(spec.Elements/grain, members, position)
	return from * grain, to * grain
}

// ShardWords is Shard in words.
func (spec *BucketSpec) ShardWords(members, position int) (from, to int) {
	from, to = spec.Shard(members, position)
	return spec.WordOf(from), spec.WordOf(to)
}

// BlockWords is Block in words.
func (spec *BucketSpec) BlockWords(members, position int) (from, to int) {
	from, to = spec.Block(members, position)
	return spec.WordOf(from), spec.WordOf(to)
}

// Part returns the spec of a dense bucket's words from from to to, as a bucket of its own.
func (spec *BucketSpec) Part(from, to int) BucketSpec {
	part, bytes := *spec, spec.Type.Bytes()
	part.Elements = min(4*to/bytes, spec.Elements) - 4*from/bytes
	return part
}

// aligned allocates words at a multiple of 8 bytes.
func aligned(words int) []float32 {
	return ViewFloat32(Int64Bytes(make([]int64, (words+1)/2)))[:words:words]
}
