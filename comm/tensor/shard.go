package tensor

// Shard is the place of a member's part of so many elements, which a group scatters in
// the order of positions. The sizes of parts differ by one element at most.
func Shard(elements, members, position int) (from, to int) {
	return position * elements / members, (position + 1) * elements / members
}

// Block is the place of the part for a member of so many elements, which are scattered in
// equal parts. Up to members-1 elements at the end belong to no part.
func Block(elements, members, position int) (from, to int) {
	size := elements / members
	return position * size, (position + 1) * size
}
