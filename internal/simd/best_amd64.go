package simd

import "golang.org/x/sys/cpu"

// best returns the highest level that this machine and its operating system support.
func best() Level {
	switch x := cpu.X86; {
	case x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX2 && x.HasFMA && x.HasBMI2:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	default:
		return Portable
	}
}
