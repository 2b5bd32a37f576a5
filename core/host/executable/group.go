package executable

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// nobodyAlone is a group that nobody has for himself.
const nobodyAlone = -1

// isAlone says whether nobody but the user is in a group.
func isAlone(group int) bool {
	users, _ := os.ReadFile("/etc/passwd") // there may be none in a container
	groups, _ := os.ReadFile("/etc/group")
	return alone(group, os.Getuid(), os.Getgid(), string(users), string(groups))
}

// alone says whether a group is the user's private one, as distributions make it whose umask lets
// the group write: his primary group, in which nobody else is. passwd(5) and group(5) say that. Of
// a user whom they do not know, a directory server's, the private group is taken to be that of his
// own number, which is what those distributions give it.
func alone(group, user, primary int, passwd, groups string) bool {
	name, known := "", false
	for fields := range records(passwd, 4) {
		id, gid := number(fields[2]), number(fields[3])
		switch {
		case id == user:
			name, primary, known = fields[0], gid, true
		case gid == group:
			return false
		}
	}
	if group < 0 || group != primary || !known && group != user {
		return false
	}
	for fields := range records(groups, 4) {
		others := slices.DeleteFunc(strings.Split(fields[3], ","),
			func(member string) bool { return member == "" || member == name })
		if number(fields[2]) == group && len(others) > 0 {
			return false
		}
	}
	return true
}

// records are the lines of a file of fields between colons that have at least so many.
func records(text string, atLeast int) func(yield func(fields []string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) >= atLeast && !yield(fields) {
				return
			}
		}
	}
}

// number is a user's or a group's, or none.
func number(text string) int {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return int(n) // #nosec G115 -- 32 bits
	}
	return nobodyAlone - 1
}
