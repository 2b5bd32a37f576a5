package option

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// linkName matches variables that Kubernetes sets in each pod for a Service, or Docker in each container for a link.
// The name of such a variable consists of the name of the Service and the meaning of the value.
var linkName = regexp.MustCompile(`^(.+?)_(?:(SERVICE_HOST|PORT_[0-9]+_(?:TCP|UDP|SCTP)_ADDR)|(SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)_PORT)|(PORT(?:_[0-9]+_(?:TCP|UDP|SCTP))?)|(PORT_[0-9]+_(?:TCP|UDP|SCTP)_PROTO))$`)

// IsServiceLink reports whether a variable says where a Kubernetes Service listens. IsServiceLink decides by the form
// of name and value. For a Service called psbench or psbench-master, such variables have the same prefix as psbench's
// own.
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

// WithoutServiceLinks returns environ without the variables for Services and links.
func WithoutServiceLinks(environ []string) []string {
	var linked []string // prefixes of such variables
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasSuffix(name, "_PORT") &&
			IsServiceLink(name, value) {
			linked = append(linked, strings.TrimSuffix(name, "PORT"))
		}
	}
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return IsServiceLink(name, value) || slices.ContainsFunc(linked, func(link string) bool {
			rest, of := strings.CutPrefix(name, link) // Docker also sets the container's name and variables
			return of && (rest == "NAME" && strings.HasPrefix(value, "/") || strings.HasPrefix(rest, "ENV_"))
		})
	})
}
