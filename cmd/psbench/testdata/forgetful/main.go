// Command forgetful is a plugin with a parameter server that forgets to divide:
// it answers with the sum. psbench verify must notice.
package main

import (
	"sync"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

type server struct{ mu sync.Mutex }

func (s *server) Wake() sdk.Wake { return sdk.LastArrival }
func (s *server) Reset()         {}

func (s *server) Receive(pushes []*sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := pushes[0].Gradient
	for _, p := range pushes[1:] {
		for i, v := range p.Gradient.Values {
			sum.Values[i] += v
		}
	}
	for i := len(pushes) - 1; i >= 0; i-- {
		if err := pushes[i].Answer(sum); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	plugin.Serve(sdk.NewServer("forgetful", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) {
		return &server{}, nil
	}))
}
