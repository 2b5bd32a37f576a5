package launchers

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// hostsFile knows the hosts that the user lists. This process is the first task, whether or not its host is one of
// them; the others have a task each.
func hostsFile(r *reader) (*Place, string, error) {
	if r.HostsFile == "" {
		return nil, "no file is given", nil
	}
	text, err := r.ReadFile(r.HostsFile)
	if err != nil {
		return nil, "", fmt.Errorf("%s cannot be read: %w", quote.Word(r.HostsFile), draft.Cause(err))
	}
	hosts, err := ParseHosts(string(text))
	if err != nil {
		return nil, "", fmt.Errorf("%s:%w", quote.Word(r.HostsFile), err)
	}
	p := &Place{Host: r.Host, From: Sources{Size: r.HostsFile}}
	here := ""
	for _, h := range hosts {
		r.note(h.Name, cmp.Or(h.Program, "psbench"))
		switch {
		case h.Name != r.Host && (r.IsHere == nil || !r.IsHere(h.Name)):
			p.Others = append(p.Others, h)
		case here != "":
			return nil, "", fmt.Errorf("%s: %s and %s both are this host, %s: leave one out", quote.Word(r.HostsFile), here, h.Name, r.Host)
		default:
			here = h.Name
		}
	}
	p.Apart = here == ""
	p.Size = 1 + len(p.Others)
	why := fmt.Sprintf("%d hosts of %s", len(hosts), quote.Word(r.HostsFile))
	if len(hosts) == 1 {
		why = "the host of " + quote.Word(r.HostsFile)
	}
	if p.Apart {
		why += ", none of them this one"
	}
	return p, why, nil
}

// Host is a line of a file of hosts.
type Host struct {
	Name    string // or an address
	Program string // the path of psbench there, "" for that of this one
}

// String is its line.
func (h Host) String() string {
	if h.Program == "" {
		return h.Name
	}
	return h.Name + " psbench=" + h.Program
}

// Bounds of a file of hosts.
const (
	mostHosts = 1 << 14
	mostSlots = 1 << 10 // of a host
)

// ParseHosts reads a file of hosts: one a line, as in "node1 psbench=/opt/psbench". Files of mpirun are read, too:
// "slots=4" may follow a host, though psbench has one task there whatever that says. A line that begins with # is a
// comment. An error begins with the number of its line.
func ParseHosts(text string) ([]Host, error) {
	var hosts []Host
	lines := map[string]int{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		h := Host{Name: words[0]}
		if !isHost(h.Name) {
			return nil, fmt.Errorf("%d: %s is no name and no address of a host", n, quote.String(h.Name))
		}
		if first := lines[h.Name]; first > 0 {
			return nil, fmt.Errorf("%d: %s is in line %d already", n, h.Name, first)
		}
		given := map[string]bool{}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch {
			case given[key]:
				return nil, fmt.Errorf("%d: %s is given twice", n, quote.String(key))
			case key == "slots" && isCount(value):
			case key == "psbench" && path.IsAbs(value):
				h.Program = value
			default:
				return nil, fmt.Errorf("%d: %s follows the host but only psbench=/PATH may, and slots=N from 1 to %d", n, quote.String(word), mostSlots)
			}
			given[key] = true
		}
		lines[h.Name] = n
		if hosts = append(hosts, h); len(hosts) > mostHosts {
			return nil, fmt.Errorf("%d: there are more than %d hosts", n, mostHosts)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("%d: there is no host", max(n, 1))
	}
	return hosts, nil
}

// isCount says whether a text is a count of slots.
func isCount(text string) bool {
	count, err := strconv.ParseUint(text, 10, 16)
	return err == nil && count >= 1 && count <= mostSlots
}

// isHost is for what goes on command lines: nothing that begins with a dash.
func isHost(name string) bool {
	const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	return len(name) <= 253 && strings.Trim(name, letters+digits+".:_-") == "" && strings.Trim(name[:1], letters+digits+":") == ""
}
