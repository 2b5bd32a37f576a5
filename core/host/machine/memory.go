package machine

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// MemoryMiB is the memory that the kernel manages, or what the cgroups of psbench allow of it if that is less;
// 0 if the kernel does not tell.
func MemoryMiB() int64 { return memoryMiB(os.DirFS("/")) }

func memoryMiB(root fs.FS) int64 {
	for line := range strings.Lines(text(root, "proc/meminfo")) {
		kib, ok := strings.CutPrefix(line, "MemTotal:")
		if !ok {
			continue
		}
		mib, _ := strconv.ParseInt(word(kib), 10, 53)
		mib >>= 10
		if l := bounds(root); l != nil && l.MemoryBytes > 0 {
			mib = min(mib, l.MemoryBytes>>20)
		}
		return mib
	}
	return 0
}
