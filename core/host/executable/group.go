package executable

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// nobodyAlone is a group number that stands for a group which is not private.
const nobodyAlone = -1

// isAlone reports whether a group is the private group of this process's user.
func isAlone(group int) bool {
	users, _ := os.ReadFile("/etc/passwd") // a container may not have this file
	groups, _ := os.ReadFile("/etc/group")
	return alone(group, os.Getuid(), os.Getgid(), string(users), string(groups))
}

// alone reports whether a group is the user's private group. A private group is the user's primary group without other
// members. Distributions whose umask lets the group write create such groups. The files passwd(5) and group(5) decide.
// These files do not contain users of a directory server. For such a user, the group with the same number counts as
// private, because those distributions also give user and group the same number.
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

// records yields the lines of a colon-separated file, split into fields. records skips lines with fewer than atLeast
// fields.
func records(text string, atLeast int) func(yield func(fields []string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) >= atLeast && !yield(fields) {
				return
			}
		}
	}
}

// number parses the number of a user or group. number returns none if the text is not valid.
func number(text string) int {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return int(n) // #nosec G115 -- 32 bits
	}
	return nobodyAlone - 1
}
