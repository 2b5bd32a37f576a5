package pmix

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
)

// job is a fake store of a launcher with size tasks.
type job struct {
	size int

	mu         sync.Mutex
	met        *sync.Cond
	in, fences int
	put, shown map[string]string
}

func (j *job) Put(key, value string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.put[key] = value
	return nil
}

func (j *job) Fence() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	fence := j.fences
	if j.in++; j.in == j.size {
		j.in, j.fences = 0, fence+1
		maps.Copy(j.shown, j.put)
		j.met.Broadcast()
	}
	for j.fences == fence {
		j.met.Wait()
	}
	return nil
}

func (j *job) Get(key string) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if value, found := j.shown[key]; found {
		return value, nil
	}
	return "", errors.New("PMIx_Get fails with status -46")
}

func (j *job) Close() error { return nil }

// client returns a task's client. The client's requests go through serve.
func client(t *testing.T, open func() (store, error)) (*pmi.Client, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	requests := make(chan string)
	var serving sync.WaitGroup
	serving.Go(func() {
		defer close(requests)
		lines := bufio.NewScanner(theirs)
		for lines.Scan() {
			requests <- lines.Text()
		}
	})
	serving.Go(func() {
		serve(theirs, requests, open)
		_ = theirs.Close()
		for range requests { // discard late requests
		}
	})
	t.Cleanup(func() { _ = ours.Close(); serving.Wait() })
	return pmi.Open(t.Context(), ours, time.Minute)
}

// Through PMIx, tasks get a common secret and exchange their descriptions, as they do by PMI-1.
func TestTasksMeet(t *testing.T) {
	const size = 3
	j := &job{size: size, put: map[string]string{}, shown: map[string]string{}}
	j.met = sync.NewCond(&j.mu)
	secrets := make([]string, size)
	var tasks []rollcall.Task
	var running sync.WaitGroup
	for rank := range size {
		c, err := client(t, func() (store, error) { return j, nil })
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			me := rollcall.Task{Rank: rank, Size: size, Local: -1, Host: "node" + string(rune('0'+rank)), Version: "v1",
				Binary: "0a"}
			secret, err := rollcall.Secret(context.Background(), c, me)
			if err != nil {
				t.Error(err)
				return
			}
			secrets[rank] = string(secret)
			all, err := rollcall.Call(context.Background(), c, me)
			if err != nil {
				t.Error(err)
			}
			if rank == 0 {
				tasks = all
			}
			if _, err := c.Get(context.Background(), "nothing"); !errors.Is(err, pmi.ErrNoKey) {
				t.Errorf("a key that nobody has put gives %v", err)
			}
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if len(tasks) != size || tasks[2].Host != "node2" || len(secrets[0]) != 32 || secrets[1] != secrets[0] ||
		secrets[2] != secrets[0] {
		t.Errorf("the tasks are %v", tasks)
	}
}

// If there is no library or no launcher, the task gets an error with the reason.
func TestNoLibrary(t *testing.T) {
	_, err := client(t, func() (store, error) { return nil, errors.New("libpmix.so.2 cannot be loaded: no such file") })
	refused := (*pmi.RefusedError)(nil)
	if !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, "libpmix.so.2_cannot_be_loaded") {
		t.Errorf("the task gets %v", err)
	}
}
