package config

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/registry"
)

func counts(trainers, cudaTrainers, servers, cudaServers int) World {
	return World{Trainers: trainers, CUDATrainers: cudaTrainers, Servers: servers, CUDAServers: cudaServers}
}

// everyServer returns a world in which every trainer uses every server.
func everyServer(trainers, servers int) World {
	return World{Trainers: trainers, Servers: servers, EveryServer: true}
}

func TestCheck(t *testing.T) {
	for i, test := range []struct {
		world World
		want  string
	}{
		{counts(2, 0, 1, 0), ""},
		{counts(4, 0, 2, 0), ""},
		{counts(3, 0, 0, 0), ""},
		{counts(0, 2, 0, 0), ""},
		{counts(0, 4, 0, 2), ""},
		{counts(2, 2, 1, 2), ""},
		{counts(-1, 0, 0, 0), "--ntrainer is -1 but must be 0 or more"},
		{counts(1, -2, 0, 0), "--ncudatrainer is -2 but must be 0 or more"},
		{counts(1, 0, -1, 0), "--nserver is -1 but must be 0 or more"},
		{counts(1, 0, 0, -3), "--ncudaserver is -3 but must be 0 or more"},
		{counts(0, 0, 0, 0), "--ntrainer is 0 and --ncudatrainer is 0: there must be a trainer"},
		{counts(0, 0, 1, 0), "--ntrainer is 0 and --ncudatrainer is 0: there must be a trainer"},
		{counts(1, 1, 0, 0),
			"--ntrainer is 1 and --ncudatrainer is 1: CPU and CUDA trainers together need servers of both kinds, but --nserver is 0 and --ncudaserver is 0"},
		{counts(2, 1, 1, 0),
			"--ntrainer is 2 and --ncudatrainer is 1: CPU and CUDA trainers together need servers of both kinds, but --nserver is 1 and --ncudaserver is 0"},
		{counts(0, 1, 1, 0), "--nserver is 1 but --ntrainer is 0: servers need trainers of their kind"},
		{counts(1, 0, 0, 1), "--ncudaserver is 1 but --ncudatrainer is 0: servers need trainers of their kind"},
		{counts(3, 0, 2, 0),
			"--nserver is 2 but --ntrainer is 3: the count of trainers must be a multiple of the count of servers"},
		{counts(1, 0, 2, 0),
			"--nserver is 2 but --ntrainer is 1: the count of trainers must be a multiple of the count of servers"},
		{everyServer(3, 2), ""},
		{everyServer(1, 8), ""},
		{everyServer(0, 1), "--ntrainer is 0 and --ncudatrainer is 0: there must be a trainer"},
		{counts(0, 3, 0, 2),
			"--ncudaserver is 2 but --ncudatrainer is 3: the count of trainers must be a multiple of the count of servers"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			got := ""
			if err := test.world.Check(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%+v\n got %q\nwant %q", test.world, got, test.want)
			}
		})
	}
}

func TestRanks(t *testing.T) {
	const none = -1
	for i, test := range []struct {
		world    World
		names    []string
		cuda     []int // ranks on CUDA devices
		serverOf []int // indexed by trainer
	}{
		{counts(2, 0, 0, 0), []string{"trainer0", "trainer1", "master"}, nil, []int{none, none}},
		{counts(1, 0, 1, 0), []string{"trainer0", "server1", "master"}, nil, []int{1}},
		{
			counts(4, 0, 2, 0),
			[]string{"trainer0", "trainer1", "trainer2", "trainer3", "server4", "server5", "master"},
			nil, []int{4, 4, 5, 5},
		},
		{
			counts(2, 4, 1, 2),
			[]string{"trainer0", "trainer1", "trainer2", "trainer3", "trainer4", "trainer5", "server6", "server7",
				"server8", "master"},
			[]int{2, 3, 4, 5, 7, 8}, []int{6, 6, 7, 7, 8, 8},
		},
		{counts(0, 2, 0, 1), []string{"trainer0", "trainer1", "server2", "master"}, []int{0, 1, 2}, []int{2, 2}},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			w := test.world
			var names []string
			var cuda []int
			for rank := range w.Master() + 1 {
				names = append(names, w.Name(rank))
				if w.CUDA(rank) {
					cuda = append(cuda, rank)
				}
			}
			var serverOf []int
			trainersOf := map[int][]int{}
			for _, trainer := range w.TrainerRanks() {
				server, ok := w.ServerOf(trainer)
				if !ok {
					server = none
				} else {
					trainersOf[server] = append(trainersOf[server], trainer)
				}
				serverOf = append(serverOf, server)
			}
			for _, d := range []string{cmp.Diff(test.names, names), cmp.Diff(test.cuda, cuda),
				cmp.Diff(test.serverOf, serverOf)} {
				if d != "" {
					t.Errorf("%+v: %s", w, d)
				}
			}
			for _, server := range w.ServerRanks() {
				if diff := cmp.Diff(trainersOf[server], w.TrainersOf(server)); diff != "" {
					t.Errorf("%+v: trainers of %d: %s", w, server, diff)
				}
			}
		})
	}
}

func TestEveryServer(t *testing.T) {
	w := everyServer(2, 3)
	for _, trainer := range w.TrainerRanks() {
		if server, ok := w.ServerOf(trainer); ok {
			t.Errorf("trainer%d has server%d to itself", trainer, server)
		}
	}
	for _, server := range w.ServerRanks() {
		if diff := cmp.Diff([]int{0, 1}, w.TrainersOf(server)); diff != "" {
			t.Errorf("trainers of server%d: %s", server, diff)
		}
	}
	if diff := cmp.Diff([][]int{{0}, {1}}, w.Sets(registry.Links{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]int{{0, 1}}, w.Sets(registry.Links{Group: true})); diff != "" {
		t.Error(diff)
	}
}

func TestRanksOutsideTheWorld(t *testing.T) {
	w := counts(2, 0, 1, 0)
	for _, rank := range []int{-1, 4} {
		t.Run(fmt.Sprint(rank), func(t *testing.T) {
			if got := w.Name(rank); got == "master" || got == "trainer-1" {
				t.Errorf("rank %d is called %s", rank, got)
			}
			if w.CUDA(rank) {
				t.Errorf("rank %d is on a CUDA device", rank)
			}
		})
	}
	for _, rank := range []int{-1, 2, 3} {
		t.Run(fmt.Sprint(rank), func(t *testing.T) {
			if server, ok := w.ServerOf(rank); ok {
				t.Errorf("rank %d, no trainer, has server %d", rank, server)
			}
		})
	}
}

func TestSets(t *testing.T) {
	world := counts(4, 0, 2, 0)
	all, byServer := [][]int{{0, 1, 2, 3}}, [][]int{{0, 1}, {2, 3}}
	for i, test := range []struct {
		links registry.Links
		want  [][]int
	}{
		{registry.Links{}, [][]int{{0}, {1}, {2}, {3}}},
		{registry.Links{Server: true}, byServer},
		{registry.Links{Group: true}, all},
		{registry.Links{Default: true}, all},
		{registry.Links{Group: true, Default: true}, all},
		{registry.Links{Server: true, Group: true}, all},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if diff := cmp.Diff(test.want, world.Sets(test.links)); diff != "" {
				t.Errorf("%+v: %s", test.links, diff)
			}
		})
	}
}
