//go:build slurm

package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// psbench comm measures between nodes. It reports the endpoints and the capacity of the link, and finds every value
// correct.
func commBetweenNodes(t *testing.T, s *slurm) {
	for _, c := range []struct {
		args, hosts, links string
		transports         []string
	}{
		{"pushpull allreduce --ntrainer 2", "hosts: node1 trainer0, server2; node2 trainer1\n",
			"links: shm trainer0-server2; tcp trainer1-server2, trainer0-trainer1\n", []string{"shm+tcp"}},
		{"pushpull --ntrainer 1 --server-place apart --transport tcp,grpc", "hosts: node1 trainer0; node2 server1\n",
			"", []string{"tcp", "grpc"}},
	} {
		file := filepath.Join(t.TempDir(), "comm.json")
		args := append([]string{"comm", "--sizes", "4K,1M", "--rounds", "20", "--repeat", "1", "--quiet", "--json",
			file}, strings.Fields(c.args)...)
		out, err := s.srun(2, args...)
		if err != nil || !strings.Contains(out, c.hosts) || !strings.Contains(out, c.links) ||
			!strings.Contains(out, "\nlink node1 – node2: ") {
			t.Errorf("comm %s: %v, want %s%s in\n%s", c.args, err, c.hosts, c.links, out)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Complete bool `json:"complete"`
			Rows     []struct {
				Transport string `json:"transport"`
				Verified  string `json:"verified"`
			} `json:"rows"`
			HostLinks []struct {
				From string  `json:"from"`
				To   string  `json:"to"`
				Out  float64 `json:"out_gbps"`
			} `json:"host_links"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if len(r.HostLinks) != 1 || r.HostLinks[0].Out <= 0 || !r.Complete || len(r.Rows) != 4 {
			t.Errorf("comm %s: %s", c.args, text)
		}
		for i, row := range r.Rows {
			if want := c.transports[i%len(c.transports)]; row.Transport != want || row.Verified != "rounds" {
				t.Errorf("comm %s: row %d is of %s and verified in %s", c.args, i, row.Transport, row.Verified)
			}
		}
	}
	out, err := s.srun(2, "comm", "--transport", "shm", "--quiet")
	if want :=
		"psbench: trainer0 runs on the core's host and trainer1 on node2, but transport shm (flag --transport) reaches no other host: leave it out, or give tcp\n"; err == nil ||
		!strings.Contains("\n"+out, "\n"+want) {
		t.Errorf("over shm: %v, %s", err, out)
	}
	s.clean("node1", "node2")
}
