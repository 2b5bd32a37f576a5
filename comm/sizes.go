package comm

// ChunkElements is how many elements of a dense bucket travel as one chunk on the
// fabrics that carry frames: 1 MiB.
const ChunkElements = 256 << 10

// Chunks is the number of chunks of a bucket of this many elements on a port that
// hands over chunks.
func Chunks(elements int) int { return max(1, (elements+ChunkElements-1)/ChunkElements) }

// PieceElements is how much of a dense bucket in ordinary memory a trainer and its server pass
// to and fro at a time in shared memory, 128 KiB: the pieces under way stay in the second-level
// cache.
const PieceElements = 32 << 10

// PieceCount is the number of such pieces of a bucket of this many elements.
func PieceCount(elements int) int { return (elements + PieceElements - 1) / PieceElements }

// PieceOf is from where to where piece k of a bucket of so many elements reaches. The first piece is
// the end of the bucket, what is left beyond whole ones, for that was written last and is the likeliest
// to be in a cache still.
func PieceOf(elements, k int) (from, to int) {
	from = (PieceCount(elements) - 1 - k) * PieceElements
	return from, min(from+PieceElements, elements)
}

// BlockElements is how much is reduced at a time in shared memory: 8 KiB, so that
// the blocks of a few ranks stay in the first-level cache from the first addition
// until the last copy is written.
const BlockElements = 2 << 10

// EagerBytes bounds the buckets that a group in shared memory reduces from copies of all
// inputs: one wait instead of two, for T times the reading.
const EagerBytes = 16 << 10
