// Package hosts computes how the members of a group on several hosts are
// connected. All functions are pure functions of the members' hosts.
package hosts

import "slices"

// Layout is the placement of a group's members on hosts, as one member sees it.
//
// All members of one host are connected to each other. Rings called rails
// connect the hosts. On each host, the first Rails members are on one rail
// each. A rail connects the members that have the same place on their hosts.
// Rails is the number of members on the smallest host. Each rail carries a part
// of the exchange between hosts, over its own connections.
type Layout struct {
	Size    int     // number of members on all hosts
	Members [][]int // positions by host, in ascending order; hosts are ordered by their first member
	Host    int     // index of this member's host
	Place   int     // index of this member on its host
	Rails   int
}

// Of returns the layout for the member at a position. hosts[i] is the number of
// member i's host.
func Of(hosts []int, position int) Layout {
	l := Layout{Size: len(hosts)}
	at := map[int]int{}
	for i, number := range hosts {
		host, known := at[number]
		if !known {
			host = len(l.Members)
			at[number] = host
			l.Members = append(l.Members, nil)
		}
		if i == position {
			l.Host, l.Place = host, len(l.Members[host])
		}
		l.Members[host] = append(l.Members[host], i)
	}
	l.Rails = len(l.Members[0])
	for _, there := range l.Members {
		l.Rails = min(l.Rails, len(there))
	}
	return l
}

// Here lists the positions of the members on this host.
func (l *Layout) Here() []int { return l.Members[l.Host] }

// OnRail reports whether this member is connected to other hosts.
func (l *Layout) OnRail() bool { return len(l.Members) > 1 && l.Place < l.Rails }

// Rail lists the positions of the members on this member's rail, by host.
func (l *Layout) Rail() []int {
	rail := make([]int, len(l.Members))
	for host, there := range l.Members {
		rail[host] = there[l.Place]
	}
	return rail
}

// Peers lists the positions of the members that this member is connected to, in
// ascending order.
func (l *Layout) Peers() []int {
	var peers []int
	for place, position := range l.Here() {
		if place != l.Place {
			peers = append(peers, position)
		}
	}
	if l.OnRail() {
		rail, n := l.Rail(), len(l.Members)
		peers = append(peers, rail[(l.Host+1)%n])
		if n > 2 {
			peers = append(peers, rail[(l.Host+n-1)%n])
		}
	}
	slices.Sort(peers)
	return peers
}

// HostOf returns the host of the member at a position and the member's place
// there.
func (l *Layout) HostOf(position int) (host, place int) {
	for host, there := range l.Members {
		if place := slices.Index(there, position); place >= 0 {
			return host, place
		}
	}
	return -1, -1
}
