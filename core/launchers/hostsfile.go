package launchers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// hostsFile knows the hosts that the user lists. This process is the first task.
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
	for _, h := range hosts {
		r.note(h.Name, "slots="+strconv.Itoa(h.Slots))
		p.Size += h.Slots
	}
	return p, fmt.Sprintf("%d hosts of %s", len(hosts), quote.Word(r.HostsFile)), nil
}

// Host is a line of a file of hosts.
type Host struct {
	Name  string // or an address
	Slots int    // tasks that it takes
}

// Bounds of a file of hosts.
const (
	mostHosts = 1 << 14
	mostSlots = 1 << 10 // of a host
)

// ParseHosts reads a file of hosts: one a line, as in "node1 slots=4", with one slot if it does not say; a
// line that begins with # is a comment. An error begins with the number of its line.
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
		h := Host{Name: words[0], Slots: 1}
		if !isHost(h.Name) {
			return nil, fmt.Errorf("%d: %s is no name and no address of a host", n, quote.String(h.Name))
		}
		if first := lines[h.Name]; first > 0 {
			return nil, fmt.Errorf("%d: %s is in line %d already: give it slots there", n, h.Name, first)
		}
		if len(words) > 1 {
			value, slots := strings.CutPrefix(words[1], "slots=")
			count, err := strconv.ParseUint(value, 10, 16)
			if !slots || err != nil || count < 1 || count > mostSlots || len(words) > 2 {
				return nil, fmt.Errorf("%d: %s follows the host but only slots=N may, from 1 to %d", n, quote.String(strings.Join(words[1:], " ")), mostSlots)
			}
			h.Slots = int(count) // #nosec G115 -- at most mostSlots
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

// isHost is for what goes on command lines: nothing that begins with a dash.
func isHost(name string) bool {
	const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	return len(name) <= 253 && strings.Trim(name, letters+digits+".:_-") == "" && strings.Trim(name[:1], letters+digits+":") == ""
}
