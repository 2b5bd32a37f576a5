package conduct

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// watched is a binary together with the state of its file at the last verification of the checksum.
type watched struct {
	sweep.Binary
	info fs.FileInfo
}

// watch verifies the checksums of binaries and returns the binaries in the form that unchanged takes.
func watch(binaries []sweep.Binary) ([]watched, error) {
	all := make([]watched, len(binaries))
	for i, b := range binaries {
		all[i].Binary = b
	}
	return all, unchanged(all)
}

// unchanged returns an error if a binary has changed since the sweep began, because runs of different builds must not
// be compared. It rereads a file only if the file's inode, size or modification time changed.
func unchanged(binaries []watched) error {
	for i := range binaries {
		b := &binaries[i]
		info, err := os.Stat(b.Path)
		if err != nil {
			return fmt.Errorf("binary %s cannot be read: %w", quote.Word(b.Path), draft.Cause(err))
		}
		if b.info != nil && os.SameFile(b.info, info) && b.info.ModTime().Equal(info.ModTime()) &&
			b.info.Size() == info.Size() {
			continue
		}
		sum, err := executable.SumOf(b.Path)
		if err != nil {
			return fmt.Errorf("binary %s cannot be read: %w", quote.Word(b.Path), draft.Cause(err))
		}
		if sum != b.SHA256 {
			return fmt.Errorf("binary %s was changed: its SHA-256 was %.12s and is %.12s; restore it, or give this sweep another folder",
				quote.Word(b.Path), b.SHA256, sum)
		}
		b.info = info
	}
	return nil
}
