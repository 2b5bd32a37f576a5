package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/screen"
)

// OnCUDA returns the cases with CUDA ranks instead of CPU ranks. Each case appears once for every allowed combination
// of CUDA trainers and CUDA servers. The expected values stay the same, because ranks and links stay the same. The
// backend NCCL connects only CUDA trainers.
func OnCUDA(cases []Case, backend string) (all []Case) {
	for _, c := range cases {
		h := c.Head()
		for _, trainers := range parts(h.NTrainer) {
			for _, servers := range parts(h.NServer) {
				p := &placed{c, *h, config.World{
					Trainers: h.NTrainer - trainers, CUDATrainers: trainers, Servers: h.NServer - servers,
					CUDAServers: servers,
					EveryServer: h.Trainer == tableTrainer,
				}}
				if trainers+servers > 0 && p.possible() && (backend == config.Gloo || trainers == h.NTrainer) {
					p.head.Name += " on " + p.on()
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// tableTrainer is the trainer that uses every server.
const tableTrainer = "hybrid"

// parts returns the possible numbers of CUDA ranks among n ranks, from all to none.
func parts(n int) (list []int) {
	for ; n >= 0; n-- {
		list = append(list, n)
	}
	return list
}

// placed is a case whose ranks partly or all run on CUDA devices.
type placed struct {
	Case
	head  Header
	world config.World
}

// possible reports whether the rules allow the world. Each trainer must also have the same server as without CUDA.
func (p *placed) possible() bool {
	if p.world.Check() != nil {
		return false
	}
	plain := config.World{Trainers: p.head.NTrainer, Servers: p.head.NServer, EveryServer: p.world.EveryServer}
	return !slices.ContainsFunc(plain.TrainerRanks(), func(t int) bool {
		server, _ := plain.ServerOf(t)
		other, _ := p.world.ServerOf(t)
		return server != other
	})
}

// on describes the world in words.
func (p *placed) on() string {
	var parts []string
	for _, c := range []struct {
		count int
		what  string
	}{{p.world.Trainers, "trainer"}, {p.world.CUDATrainers, "CUDA trainer"}, {p.world.Servers, "server"},
		{p.world.CUDAServers, "CUDA server"}} {
		if c.count > 0 {
			parts = append(parts, screen.Count(c.count, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Head implements Case.
func (p *placed) Head() *Header { return &p.head }

// Layer implements Case.
func (p *placed) Layer() config.Layer {
	l := p.Case.Layer()
	l.Origin = "case " + p.head.title()
	for key, count := range map[string]int{
		"ntrainer": p.world.Trainers, "ncudatrainer": p.world.CUDATrainers, "nserver": p.world.Servers,
		"ncudaserver": p.world.CUDAServers,
	} {
		l.Values[key] = count
	}
	return l
}

// refuseCUDA returns an error if a run with CUDA ranks is to become a case.
func refuseCUDA(e *config.Experiment) error {
	if e.CUDA == nil {
		return nil
	}
	return fmt.Errorf("--ncudatrainer is %d and --ncudaserver is %d, but only runs of CPU ranks become cases: leave both out, and run the case by verify --device cuda",
		e.World.CUDATrainers, e.World.CUDAServers)
}
