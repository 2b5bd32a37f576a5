package host

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/go-plugin"
)

// Version is the version of the contract between core and plugin: the handshake, the calls and
// their messages, the frames and segments of the data plane. A minor version only adds to its
// major version. So a core can talk to every plugin with the same major version and a minor
// version that is not above its own. Major version 0 is the contract before versions existed.
type Version struct{ Major, Minor int }

// Contract is the version that this source speaks, as a core and as a plugin.
var Contract = Version{2, 5}

// Protocol is the first version whose trainers call parts in other languages.
var Protocol = Version{2, 1}

// Checks is the first version whose processes keep what their links exchange.
var Checks = Version{2, 2}

// Aggregates is the first version whose processes push as one.
var Aggregates = Version{2, 4}

// FloatTargets is the first version whose trainers and models take targets that are numbers.
var FloatTargets = Version{2, 5}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// ParseVersion reads what String wrote; 0.0 if that is no version.
func ParseVersion(text string) (v Version) {
	if n, err := fmt.Sscanf(text, "%d.%d", &v.Major, &v.Minor); n < 2 || err != nil {
		return Version{}
	}
	return v
}

// Before says whether v is older than another version.
func (v Version) Before(other Version) bool { return v.number() < other.number() }

// minors is how many minor versions a major one has room for.
const minors = 1000

// number is the version as go-plugin's handshake has it: one number.
func (v Version) number() int { return minors*v.Major + v.Minor }

// VersionOf is the version that a handshake names by a number.
func VersionOf(number int) Version { return Version{number / minors, number % minors} }

// Accepted are the plugins with which a core of version v can talk, by the number at the
// handshake.
func (v Version) Accepted() map[int]plugin.PluginSet {
	out := map[int]plugin.PluginSet{}
	for minor := range v.Minor + 1 {
		out[Version{v.Major, minor}.number()] = plugin.PluginSet{Dispensed: &GRPCPlugin{}}
	}
	return out
}

// Refusal says why a core of version v cannot talk to a plugin that named a number at the
// handshake, and what to do.
func (v Version) Refusal(number int) string {
	if number < 0 {
		return v.RefusalOf(strconv.Itoa(number))
	}
	theirs := VersionOf(number)
	remedy := "update psbench, or build the plugin with the sdk of this psbench"
	if theirs.Major < v.Major {
		remedy = "build the plugin with the sdk of this psbench"
	}
	return fmt.Sprintf("it speaks version %s of psbench's contract with plugins, this psbench %s: %s", theirs, v,
		remedy)
}

// RefusalOf is Refusal of what is no number of a version.
func (v Version) RefusalOf(text string) string {
	return fmt.Sprintf("it names %s as its version of psbench's contract with plugins, which is none; this psbench speaks %s: build the plugin with the sdk of this psbench",
		text, v)
}
