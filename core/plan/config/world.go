package config

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// World holds the number of ranks of each type in a run. Ranks are numbered from 0 in the order of the fields. The last
// rank is the master.
type World struct {
	Trainers, CUDATrainers, Servers, CUDAServers int
	// EveryServer means that every trainer uses every server. No trainer then has its own server, and the number of
	// trainers need not be a multiple of the number of servers.
	EveryServer bool
}

// Check returns an error if the numbers of ranks break a rule.
func (w World) Check() error {
	for _, c := range []struct {
		flag  string
		count int
	}{
		{"--ntrainer", w.Trainers}, {"--ncudatrainer", w.CUDATrainers},
		{"--nserver", w.Servers}, {"--ncudaserver", w.CUDAServers},
	} {
		if c.count < 0 {
			return fmt.Errorf("%s is %d but must be 0 or more", c.flag, c.count)
		}
	}
	if w.Trainers+w.CUDATrainers == 0 {
		return fmt.Errorf("--ntrainer is 0 and --ncudatrainer is 0: there must be a trainer")
	}
	if w.Trainers > 0 && w.CUDATrainers > 0 && (w.Servers == 0 || w.CUDAServers == 0) {
		return fmt.Errorf("--ntrainer is %d and --ncudatrainer is %d: CPU and CUDA trainers together need servers of both kinds, but --nserver is %d and --ncudaserver is %d",
			w.Trainers, w.CUDATrainers, w.Servers, w.CUDAServers)
	}
	if w.EveryServer {
		return nil
	}
	if err := checkShare("--nserver", w.Servers, "--ntrainer", w.Trainers); err != nil {
		return err
	}
	return checkShare("--ncudaserver", w.CUDAServers, "--ncudatrainer", w.CUDATrainers)
}

func checkShare(serverFlag string, servers int, trainerFlag string, trainers int) error {
	switch {
	case servers == 0:
		return nil
	case trainers == 0:
		return fmt.Errorf("%s is %d but %s is 0: servers need trainers of their kind", serverFlag, servers, trainerFlag)
	case trainers%servers != 0:
		return fmt.Errorf("%s is %d but %s is %d: the count of trainers must be a multiple of the count of servers",
			serverFlag, servers, trainerFlag, trainers)
	}
	return nil
}

// Master returns the rank of the core.
func (w World) Master() int { return w.firstServer() + w.Servers + w.CUDAServers }

func (w World) firstServer() int { return w.Trainers + w.CUDATrainers }

// TrainerRanks returns the ranks of the trainers: first those on the CPU, then those on CUDA devices.
func (w World) TrainerRanks() []int { return span(0, w.firstServer()) }

// ServerRanks returns the ranks of the servers: first those on the CPU, then those on CUDA devices.
func (w World) ServerRanks() []int { return span(w.firstServer(), w.Master()) }

// Name returns the name of a rank, such as trainer0, server4 or master.
func (w World) Name(rank int) string {
	switch {
	case rank >= 0 && rank < w.firstServer():
		return fmt.Sprintf("trainer%d", rank)
	case rank >= 0 && rank < w.Master():
		return fmt.Sprintf("server%d", rank)
	case rank == w.Master():
		return "master"
	default:
		return fmt.Sprintf("no rank %d", rank)
	}
}

// CUDA reports whether a rank computes on a CUDA device.
func (w World) CUDA(rank int) bool {
	return rank >= w.Trainers && rank < w.firstServer() ||
		rank >= w.firstServer()+w.Servers && rank < w.Master()
}

// ServerOf returns the rank of a trainer's server. Trainers on the CPU have servers on the CPU, and trainers on CUDA
// devices have servers on CUDA devices. All servers of one kind have the same number of consecutive trainers. ok is
// false if there are no servers or every trainer uses every server. The world must have passed Check.
func (w World) ServerOf(trainer int) (rank int, ok bool) {
	switch {
	case w.EveryServer || trainer < 0 || trainer >= w.firstServer():
		return 0, false
	case !w.CUDA(trainer) && w.Servers > 0:
		return w.firstServer() + trainer/(w.Trainers/w.Servers), true
	case w.CUDA(trainer) && w.CUDAServers > 0:
		return w.firstServer() + w.Servers + (trainer-w.Trainers)/(w.CUDATrainers/w.CUDAServers), true
	default:
		return 0, false
	}
}

// TrainersOf returns the ranks of the trainers that use a server.
func (w World) TrainersOf(server int) []int {
	if w.EveryServer {
		return w.TrainerRanks()
	}
	var trainers []int
	for _, trainer := range w.TrainerRanks() {
		if s, ok := w.ServerOf(trainer); ok && s == server {
			trainers = append(trainers, trainer)
		}
	}
	return trainers
}

// Sets returns the sets of trainers that are connected by these links of their hook. With a group, all trainers are one
// set. With servers alone, the trainers of each server are a set. Without links, each trainer is a set.
func (w World) Sets(links registry.Links) [][]int {
	var sets [][]int
	switch {
	case links.Group || links.Default:
		sets = append(sets, w.TrainerRanks())
	case links.Server:
		for _, server := range w.ServerRanks() {
			sets = append(sets, w.TrainersOf(server))
		}
	default:
		for _, trainer := range w.TrainerRanks() {
			sets = append(sets, []int{trainer})
		}
	}
	return sets
}

// span returns the numbers from first up to, but not including, end.
func span(first, end int) []int {
	ranks := make([]int, 0, end-first)
	for rank := first; rank < end; rank++ {
		ranks = append(ranks, rank)
	}
	return ranks
}

// Replicas returns the sets of trainers whose parameters must be equal to the last bit at the end of a pass. Trainers
// that exchange gradients form such a set. Trainers of different servers may also share a group, but only the hook
// knows for which buckets, so each server has its own set. differ says why parameters may differ. If differ is not
// empty, each set has one trainer.
func (e *Experiment) Replicas() (sets [][]int, differ string) {
	links := e.Links
	if links.Server {
		links.Group, links.Default = false, false
	}
	differ = e.mayDiffer()
	if differ != "" {
		links.Server, links.Group, links.Default = false, false, false
	}
	return e.World.Sets(links), differ
}

// mayDiffer names the declaration that allows trainers to end with unequal parameters. mayDiffer returns "" if the
// parameters must be equal.
func (e *Experiment) mayDiffer() string {
	hook, server := e.Parts[sdk.KindHook].Key, e.Parts[sdk.KindServer]
	if !e.Links.Server && !e.Links.Group && !e.Links.Default {
		return fmt.Sprintf("hook %s uses no link", hook)
	}
	if e.Links.Server && server.Asynchronous {
		return fmt.Sprintf("server %s answers before all of its trainers have pushed", server.Key)
	}
	for _, kind := range []sdk.Kind{sdk.KindHook, sdk.KindServer, sdk.KindTrainer, sdk.KindModel} {
		if part := e.Parts[kind]; part.RanksDiffer && (kind != sdk.KindServer || e.Links.Server) {
			return fmt.Sprintf("%s %s is declared so", kind, part.Key)
		}
	}
	return ""
}

// ArrivalOrder says why losses and parameters depend on the order in which gradients arrive. Two runs of e are then
// equal only up to rounding, or not even up to rounding. ArrivalOrder returns "" if psbench knows no such reason.
// pushers is the largest number of trainers that push to one CPU server. Trainers of a host that push as one count
// once.
func (e *Experiment) ArrivalOrder(pushers int) string {
	server := e.Parts[sdk.KindServer]
	switch {
	case e.Service == sdk.ServiceTables && len(e.World.TrainerRanks()) > 1:
		return fmt.Sprintf("server %s applies updates of its tables as they arrive", server.Key)
	case !e.Links.Server:
		return ""
	case server.Asynchronous:
		return fmt.Sprintf("server %s answers before all of its trainers have pushed", server.Key)
	case server.OnArrival && pushers > 2: // with two pushers, the sum is the same in either order
		return fmt.Sprintf("server %s combines gradients as they arrive", server.Key)
	}
	return ""
}
