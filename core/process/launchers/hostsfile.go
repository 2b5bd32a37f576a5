package launchers

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// hostsFile recognises a hosts file from the user. This process is the first task, whether or not its host is in the
// file. Each other host in the file gets one task.
func hostsFile(r *reader) (*Place, string, error) {
	if r.HostsFile == "" {
		return nil, "no file is given", nil
	}
	text, err := r.ReadFile(r.HostsFile)
	if err != nil {
		err = fmt.Errorf("%s cannot be read: %w", quote.Word(r.HostsFile), draft.Cause(err))
		if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(r.HostsFile, ",[") {
			err = fmt.Errorf("%w; --hosts names a file that lists the hosts, and such a list may be in it", err)
		}
		return nil, "", err
	}
	hosts, slots, err := parseHosts(string(text))
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
			return nil, "", fmt.Errorf("%s: %s and %s both are this host, %s: leave one out", quote.Word(r.HostsFile),
				here, h.Name, r.Host)
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
	if slots > len(hosts) {
		why += fmt.Sprintf("; its %d slots do not count, --ntrainer does", slots)
	}
	return p, why, nil
}
