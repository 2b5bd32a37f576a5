package option

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// linkName is the name of a variable that Kubernetes gives each pod for a Service of its namespace, or Docker each
// container for a link: the name of the Service, then what the value is.
var linkName = regexp.MustCompile(`^(.+?)_(?:(SERVICE_HOST|PORT_[0-9]+_(?:TCP|UDP|SCTP)_ADDR)|(SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)_PORT)|(PORT(?:_[0-9]+_(?:TCP|UDP|SCTP))?)|(PORT_[0-9]+_(?:TCP|UDP|SCTP)_PROTO))$`)

// IsServiceLink says whether a variable tells where a Service of Kubernetes listens, by the shape of name and value:
// one of a Service called psbench, or psbench-master, begins as psbench's own do.
func IsServiceLink(name, value string) bool {
	is := linkName.FindStringSubmatch(name)
	switch {
	case is == nil:
		return false
	case is[2] != "":
		_, err := netip.ParseAddr(value)
		return err == nil
	case is[3] != "":
		_, err := strconv.ParseUint(value, 10, 16)
		return err == nil
	case is[4] != "":
		address, err := url.Parse(value)
		return err == nil && slices.Contains(protocols, address.Scheme) && address.Hostname() != "" &&
			address.Port() != ""
	default:
		return slices.Contains(protocols, value)
	}
}

var protocols = []string{"tcp", "udp", "sctp"}

// WithoutServiceLinks are the variables without those of Services and of links.
func WithoutServiceLinks(environ []string) []string {
	var linked []string // names as they begin variables
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasSuffix(name, "_PORT") &&
			IsServiceLink(name, value) {
			linked = append(linked, strings.TrimSuffix(name, "PORT"))
		}
	}
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return IsServiceLink(name, value) || slices.ContainsFunc(linked, func(link string) bool {
			rest, of := strings.CutPrefix(name, link) // Docker tells the name of a container and its variables, too
			return of && (rest == "NAME" && strings.HasPrefix(value, "/") || strings.HasPrefix(rest, "ENV_"))
		})
	})
}
