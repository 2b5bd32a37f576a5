package vec

// AddInt32 does dst[i] += src[i], modulo 2^32.
func AddInt32(dst, src []int32) {
	n := steps(len(dst))
	addInt32(dst[:n], src[:n])
	addIntegersPortable(dst[n:], src[n:len(dst)])
}

// AddInt64 does dst[i] += src[i], modulo 2^64.
func AddInt64(dst, src []int64) {
	n := steps(len(dst))
	addInt64(dst[:n], src[:n])
	addIntegersPortable(dst[n:], src[n:len(dst)])
}

func addIntegersPortable[T int32 | int64](dst, src []T) {
	for i, v := range src {
		dst[i] += v
	}
}
