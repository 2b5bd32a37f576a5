package result

import (
	"fmt"
	"strings"
)

// Links are the links that one transport carried.
type Links struct {
	Transport string `json:"transport"`
	// Pairs are the processes at their two ends: a trainer and its server, or two members of a group,
	// by their names.
	Pairs [][2]string `json:"pairs"`
}

// mostPairs bounds how many links of a transport are named.
const mostPairs = 8

// Ends names the processes that they join: "trainer0-server2, trainer1-server2, 3 more".
func (l Links) Ends() string {
	var pairs []string
	for _, p := range l.Pairs[:min(mostPairs, len(l.Pairs))] {
		pairs = append(pairs, p[0]+"-"+p[1])
	}
	if more := len(l.Pairs) - len(pairs); more > 0 {
		pairs = append(pairs, fmt.Sprintf("%d more", more))
	}
	return strings.Join(pairs, ", ")
}
