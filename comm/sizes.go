package comm

// ChunkElements is the number of elements in one chunk of a dense bucket, on
// fabrics that send frames: 1 MiB.
const ChunkElements = 256 << 10

// Chunks is the number of chunks in a bucket of this many elements, on a port
// that hands over chunks.
func Chunks(elements int) int { return max(1, (elements+ChunkElements-1)/ChunkElements) }

// PieceElements is the number of elements in one piece of a dense bucket: 128
// KiB. In shared memory, a trainer and its server exchange buckets of ordinary
// memory piece by piece, so the pieces in transit stay in the second-level
// cache.
const PieceElements = 32 << 10

// PieceCount is the number of pieces in a bucket of this many elements.
func PieceCount(elements int) int { return (elements + PieceElements - 1) / PieceElements }

// PieceOf returns the range of elements in piece k. Pieces run from the end of
// the bucket to its beginning, because the end was written last and is most
// likely still in a cache. Only piece 0 may be shorter than PieceElements.
func PieceOf(elements, k int) (from, to int) {
	from = (PieceCount(elements) - 1 - k) * PieceElements
	return from, min(from+PieceElements, elements)
}

// BlockElements is the number of elements that a group in shared memory reduces
// at a time: 8 KiB. Blocks of a few ranks stay in the first-level cache from
// the first addition to the last copy.
const BlockElements = 2 << 10

// EagerBytes is the size of the largest bucket that a group in shared memory
// reduces eagerly, from copies of all inputs. Eager reduction needs one wait
// instead of two, but T trainers read T times as much.
const EagerBytes = 16 << 10
