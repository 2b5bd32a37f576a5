package executable

import (
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// accessAttribute is the attribute with a file's POSIX access control list in the kernel's format. The list consists of
// a version and entries. Each entry consists of its tag, its permissions and the number of a user or group.
const accessAttribute = "system.posix_acl_access"

const (
	listVersion = 2
	headerSize  = 4
	entrySize   = 8
)

// These are the tags of entries. The entry with the tag asMask limits all others except forOwner and forOthers.
const (
	forOwner  = 0x01
	forUser   = 0x02
	forFolks  = 0x04 // the group of the file
	forGroup  = 0x08
	asMask    = 0x10
	forOthers = 0x20
)

// mayWrite is the permission to write.
const mayWrite = 2

// accessList returns the access control list of a file, or nil if the file has only a mode.
func accessList(path string) ([]byte, error) {
	raw := make([]byte, 1<<16) // maximum size in the kernel
	n, err := unix.Getxattr(path, accessAttribute, raw)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return raw[:n], nil
}

// listWritable reports whether an access control list lets users other than this one and root write. group is the
// file's group.
func listWritable(raw []byte, group int) (bool, error) {
	if len(raw) < headerSize || (len(raw)-headerSize)%entrySize != 0 || binary.LittleEndian.Uint32(raw) != listVersion {
		return false, errors.New("psbench does not know its version")
	}
	mask := uint16(mayWrite)
	var asking []int // groups with permission to write, before the mask is applied
	for e := raw[headerSize:]; len(e) > 0; e = e[entrySize:] {
		tag, allows, id := binary.LittleEndian.Uint16(e), binary.LittleEndian.Uint16(e[2:]),
			int(binary.LittleEndian.Uint32(e[4:]))
		switch {
		case tag == asMask:
			mask = allows
		case allows&mayWrite == 0 || tag == forOwner || tag == forUser && (id == 0 || id == os.Getuid()):
		case tag == forOthers:
			return true, nil
		case tag == forFolks:
			asking = append(asking, group)
		case tag == forGroup:
			asking = append(asking, id)
		default:
			asking = append(asking, nobodyAlone)
		}
	}
	if mask&mayWrite == 0 {
		return false, nil
	}
	for _, g := range asking {
		if !isAlone(g) {
			return true, nil
		}
	}
	return false, nil
}
