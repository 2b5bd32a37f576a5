package launchers

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// Host is a host from a hosts file.
type Host struct {
	Name    string // name or address
	User    string // user for ssh; "" for the user in ssh's configuration
	Program string // path of psbench on that host; "" for the same path as here
}

// Target returns the host as an argument for ssh.
func (h Host) Target() string {
	if h.User == "" {
		return h.Name
	}
	return h.User + "@" + h.Name
}

// String formats the host as a line of a hosts file.
func (h Host) String() string {
	if h.Program == "" {
		return h.Target()
	}
	return h.Target() + " psbench=" + h.Program
}

// These constants limit a hosts file.
const (
	mostHosts = 1 << 14
	mostSlots = 1 << 10 // largest number of slots per line
)

// ParseHosts parses a hosts file with one host per line, as in "node1 psbench=/opt/psbench". ParseHosts also parses the
// files of other programs. Open MPI and DeepSpeed write node1 slots=4. MPICH, Intel MPI and Horovod write node1:4,
// separated by commas. Slurm writes node[01-04,7], and PBS writes one line for each slot of a host. A word that begins
// with # starts a comment. Errors begin with the line number.
func ParseHosts(text string) ([]Host, error) {
	hosts, _, err := parseHosts(text)
	return hosts, err
}

// parseHosts parses a hosts file and also counts the slots. A host without a count has one slot.
func parseHosts(text string) (hosts []Host, slots int, err error) {
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return nil, 0, fmt.Errorf("1: the file is text in UTF-16: save it in UTF-8")
	}
	lines := map[string]int{}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		listed, count, err := parseLine(line)
		if err != nil {
			return nil, 0, fmt.Errorf("%d: %w", n, err)
		}
		slots += count
		for _, h := range listed {
			if first := lines[h.Name]; first == 0 {
				lines[h.Name] = n
				hosts = append(hosts, h)
			} else if !slices.Contains(hosts, h) {
				return nil, 0, fmt.Errorf("%d: %s is in line %d already, with another user or psbench=", n, h.Name,
					first)
			}
		}
		if len(hosts) > mostHosts {
			return nil, 0, fmt.Errorf("%d: there are more than %d hosts", n, mostHosts)
		}
	}
	if len(hosts) == 0 {
		return nil, 0, fmt.Errorf("%d: there is no host", max(n, 1))
	}
	return hosts, slots, nil
}

// between matches a comma or equals sign and the white space around it.
var between = regexp.MustCompile(`\s*([,=])\s*`)

// parseLine returns the hosts of a line, and the sum of their slots.
func parseLine(line string) (hosts []Host, slots int, err error) {
	words := strings.Fields(between.ReplaceAllString(line, "$1"))
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") }); i >= 0 {
		words = words[:i]
	}
	if len(words) == 0 {
		return nil, 0, nil
	}
	of, each, err := parseOptions(words[1:])
	if err != nil {
		return nil, 0, err
	}
	names, err := expand(strings.Trim(words[0], ","))
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		h, count, err := parseHost(name)
		switch {
		case err != nil:
			return nil, 0, err
		case h.User != "" && of.User != "" && h.User != of.User:
			return nil, 0, fmt.Errorf("%s has two users, %s and %s", h.Name, h.User, of.User)
		case count > 0 && each > 0 && count != each:
			return nil, 0, fmt.Errorf("%s has two counts of slots, %d and %d", h.Name, count, each)
		}
		hosts = append(hosts, Host{h.Name, cmp.Or(h.User, of.User), of.Program})
		slots += max(count, each, 1)
	}
	return hosts, slots, nil
}

// ignored lists options of launchers that do not say where a host is. The value is true if the option is a count.
var ignored = map[string]bool{
	"slots": true, "slot": true, "count": true, "cpu": true, "cpus": true, "max_slots": true, "max-slots": true,
	"ifname": false, "iface": false, "binding": false,
}

// parseOptions parses the words after a host: the user and the path of psbench there, and the number of slots.
func parseOptions(words []string) (of Host, slots int, err error) {
	// Format of Grid Engine: slots queue@host processors
	if len(words) >= 2 && isCount(words[0]) && strings.Contains(words[1], "@") {
		slots, _ = strconv.Atoi(words[0])
		return Host{}, slots, nil
	}
	given := map[string]bool{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		counts, known := ignored[key]
		switch {
		case given[key]:
			return of, 0, fmt.Errorf("%s is given twice", quote.String(key))
		case counts && isCount(value):
			if slots == 0 {
				slots, _ = strconv.Atoi(value)
			}
		case known && !counts && value != "":
		case key == "psbench" && path.IsAbs(value):
			of.Program = value
		case (key == "user" || key == "username") && isUser(value):
			of.User = value
		default:
			return of, 0,
				fmt.Errorf("%s follows the host but only psbench=/PATH, user=NAME and slots=N from 1 to %d may; hosts have a line each, or commas between",
					quote.String(word), mostSlots)
		}
		given[key] = true
	}
	return of, slots, nil
}

// expand returns the hosts of a comma-separated list, with ranges as Slurm writes them: node[01-03,7],login.
func expand(list string) ([]string, error) {
	var names []string
	for list != "" {
		end, open := len(list), false
		for i, c := range list {
			if open = c == '[' || open && c != ']'; c == ',' && !open {
				end = i
				break
			}
		}
		some, err := expandRanges(list[:end])
		if err != nil {
			return nil, err
		}
		if names = append(names, some...); len(names) > mostHosts {
			break // the caller reports the error
		}
		list = strings.TrimLeft(list[end:], ",")
	}
	return names, nil
}

// expandRanges returns the hosts of one word of the list. Brackets that contain a colon enclose an IPv6 address.
func expandRanges(word string) ([]string, error) {
	head, rest, found := strings.Cut(word, "[")
	inside, tail, closed := strings.Cut(rest, "]")
	if !found || closed && strings.Contains(inside, ":") {
		return []string{word}, nil
	}
	ends, err := expandRanges(tail)
	if err != nil {
		return nil, err
	}
	var names []string
	for piece := range strings.SplitSeq(inside, ",") {
		low, high, _ := strings.Cut(piece, "-")
		first, wrong := strconv.ParseUint(low, 10, 32)
		last, alsoWrong := strconv.ParseUint(cmp.Or(high, low), 10, 32)
		if !closed || wrong != nil || alsoWrong != nil || last < first || last-first >= mostHosts {
			return nil, fmt.Errorf("%s is not a list of hosts in Slurm's form, such as node[01-03,7]",
				quote.String(word))
		}
		for n := first; n <= last && len(names) <= mostHosts; n++ {
			for _, end := range ends {
				names = append(names, fmt.Sprintf("%s%0*d%s", head, len(low), n, end))
			}
		}
	}
	return names, nil
}

// parseHost parses NAME, USER@NAME, NAME:SLOTS or USER@NAME:SLOTS. An IPv6 address with slots must be in brackets.
func parseHost(text string) (h Host, slots int, err error) {
	wrong := fmt.Errorf("%s is no name and no address of a host", quote.String(text))
	name := text
	if user, rest, found := strings.Cut(text, "@"); found {
		if !isUser(user) {
			return h, 0, wrong
		}
		h.User, name = user, rest
	}
	count := ""
	if inside, found := strings.CutPrefix(name, "["); found {
		name, count, found = strings.Cut(inside, "]")
		if ip, err := netip.ParseAddr(name); err != nil || !ip.Is6() || !found || count != "" && count[0] != ':' {
			return h, 0, wrong
		}
		count = strings.TrimPrefix(count, ":")
	} else if _, err := netip.ParseAddr(name); err != nil {
		var counted bool
		if name, count, counted = strings.Cut(name, ":"); counted && count == "" {
			return h, 0, wrong
		}
	}
	switch {
	case !isHost(name):
		return h, 0, wrong
	case count != "" && !isCount(count):
		return h, 0,
			fmt.Errorf("%s has %s after the colon, but only a count of slots from 1 to %d may stand there; ports are those of ~/.ssh/config",
				quote.String(text), quote.String(count), mostSlots)
	}
	h.Name = name
	slots, _ = strconv.Atoi(count)
	return h, slots, nil
}

// isCount reports whether text is a valid number of slots.
func isCount(text string) bool {
	count, err := strconv.ParseUint(text, 10, 16)
	return err == nil && count >= 1 && count <= mostSlots
}

const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"

// isHost reports whether a name is safe on a command line. In particular, the name must not begin with a dash.
func isHost(name string) bool {
	return name != "" && len(name) <= 253 && strings.Trim(name, letters+digits+".:_-") == "" &&
		strings.Trim(name[:1], letters+digits+":") == ""
}

// isUser reports whether a user name is safe on a command line.
func isUser(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, letters+digits+"._-") == "" &&
		strings.Trim(name[:1], letters+digits+"_") == ""
}
