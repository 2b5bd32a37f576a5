package report

import (
	"strings"

	"github.com/psbench/psbench/core/record/result"
)

// Links says which links each transport carried, e.g. "shm trainer0-trainer1; tcp trainer0-server3".
func Links(all []result.Links) string {
	var kinds []string
	for _, l := range all {
		kinds = append(kinds, l.Transport+" "+l.Ends())
	}
	return strings.Join(kinds, "; ")
}
