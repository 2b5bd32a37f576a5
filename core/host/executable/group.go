package executable

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// nobodyAlone stands for a group that no user has alone.
const nobodyAlone = -1

// isAlone reports whether the user is the only member of a group.
func isAlone(group int) bool {
	users, _ := os.ReadFile("/etc/passwd") // there may be none in a container
	groups, _ := os.ReadFile("/etc/group")
	return alone(group, os.Getuid(), os.Getgid(), string(users), string(groups))
}

// alone reports whether a group is the user's private group: the user's primary group without other members.
// Distributions whose umask lets the group write create such groups. passwd(5) and group(5) decide. A user of a
// directory server is in neither; for such a user the group with the same number counts as private, as on those
// distributions.
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

// records yields the lines of a colon-separated file that have at least this many fields.
func records(text string, atLeast int) func(yield func(fields []string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) >= atLeast && !yield(fields) {
				return
			}
		}
	}
}

// number parses the number of a user or group; none if it is invalid.
func number(text string) int {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return int(n) // #nosec G115 -- 32 bits
	}
	return nobodyAlone - 1
}
