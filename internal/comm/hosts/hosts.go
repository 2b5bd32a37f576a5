// Package hosts says how the members of a group on several hosts are joined: pure functions of the
// host of each.
package hosts

import "slices"

// Layout is the placement of a group's members on hosts, seen by one member.
//
// All members of one host are joined to each other. Rails is the number of members of the host with the
// fewest. The first Rails members of each host are joined to the members at the same place on the hosts
// before and after theirs, in a ring: a rail. Each rail carries a part of the exchange between hosts, over
// its own connections.
type Layout struct {
	Size    int     // members of all hosts
	Members [][]int // positions by host, rising; the hosts in the order of their first members
	Host    int     // of this member
	Place   int     // of this member on its host
	Rails   int
}

// Of returns the layout that the member at a position sees. hosts has the number of each member's host.
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

// Here are the positions of the members of this host.
func (l *Layout) Here() []int { return l.Members[l.Host] }

// OnRail says that this member is joined to other hosts.
func (l *Layout) OnRail() bool { return len(l.Members) > 1 && l.Place < l.Rails }

// Rail are the positions of the members of this member's rail, by host.
func (l *Layout) Rail() []int {
	rail := make([]int, len(l.Members))
	for host, there := range l.Members {
		rail[host] = there[l.Place]
	}
	return rail
}

// Peers are the positions of the members that this member is joined to, rising.
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

// HostOf is the host of a position, and its place there.
func (l *Layout) HostOf(position int) (host, place int) {
	for host, there := range l.Members {
		if place := slices.Index(there, position); place >= 0 {
			return host, place
		}
	}
	return -1, -1
}
