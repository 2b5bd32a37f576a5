package host

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/go-plugin"
)

// Version is the version of the contract between core and plugin: the handshake, the calls with
// their messages, and the data plane's frames and segments.
//
// A new minor version may only add to the contract. So a core can use every plugin with the same
// major version and the same or an older minor version. Major version 0 is the contract before
// versions existed.
type Version struct{ Major, Minor int }

// Contract is the version that this source speaks, as a core and as a plugin.
var Contract = Version{2, 6}

// Protocol is the first version whose trainers can call parts in other languages.
var Protocol = Version{2, 1}

// Checks is the first version whose processes keep slices of their links' exchanges.
var Checks = Version{2, 2}

// Aggregates is the first version whose processes can push as one.
var Aggregates = Version{2, 4}

// FloatTargets is the first version whose trainers and models accept numeric targets.
var FloatTargets = Version{2, 5}

// Plans is the first version whose trainers lay the traffic plans of parts in other languages.
var Plans = Version{2, 6}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// ParseVersion parses the text that String writes. ParseVersion returns 0.0 if text is not a
// version.
func ParseVersion(text string) (v Version) {
	if n, err := fmt.Sscanf(text, "%d.%d", &v.Major, &v.Minor); n < 2 || err != nil {
		return Version{}
	}
	return v
}

// Before reports whether v is older than other.
func (v Version) Before(other Version) bool { return v.number() < other.number() }

// minors is the maximum number of minor versions per major version.
const minors = 1000

// number encodes the version as one number for go-plugin's handshake.
func (v Version) number() int { return minors*v.Major + v.Minor }

// VersionOf decodes the version that a handshake names by a number.
func VersionOf(number int) Version { return Version{number / minors, number % minors} }

// Accepted returns the plugins that a core of version v can use, by their number in the handshake.
func (v Version) Accepted() map[int]plugin.PluginSet {
	out := map[int]plugin.PluginSet{}
	for minor := range v.Minor + 1 {
		out[Version{v.Major, minor}.number()] = plugin.PluginSet{Dispensed: &GRPCPlugin{}}
	}
	return out
}

// Refusal explains why a core of version v cannot use a plugin with this handshake number, and
// suggests a remedy.
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

// RefusalOf is like Refusal for a text that is not a version number.
func (v Version) RefusalOf(text string) string {
	return fmt.Sprintf("it names %s as its version of psbench's contract with plugins, which is not a version; this psbench speaks %s: build the plugin with the sdk of this psbench",
		text, v)
}
