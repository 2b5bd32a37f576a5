package executable

import (
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// accessAttribute holds the POSIX access control list of a file, as the kernel has it: a version, and
// for each entry whom it is for, what it allows, and the number of that user or group.
const accessAttribute = "system.posix_acl_access"

const (
	listVersion = 2
	headerSize  = 4
	entrySize   = 8
)

// Whom an entry of a list is for. All but the owner and the others get no more than the mask allows.
const (
	forOwner  = 0x01
	forUser   = 0x02
	forFolks  = 0x04 // the file's group
	forGroup  = 0x08
	asMask    = 0x10
	forOthers = 0x20
)

// mayWrite is the bit of permissions to write.
const mayWrite = 2

// accessList is the list of a file, nil if its mode says all.
func accessList(path string) ([]byte, error) {
	raw := make([]byte, 1<<16) // the kernel's limit
	n, err := unix.Getxattr(path, accessAttribute, raw)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return raw[:n], nil
}

// listWritable says whether a list lets others write than the user and root: the group is that of
// the file.
func listWritable(raw []byte, group int) (bool, error) {
	if len(raw) < headerSize || (len(raw)-headerSize)%entrySize != 0 || binary.LittleEndian.Uint32(raw) != listVersion {
		return false, errors.New("it is of no version that psbench knows")
	}
	mask := uint16(mayWrite)
	var asking []int // groups that may write, below the mask
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
