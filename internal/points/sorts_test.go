package points

import (
	"errors"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// allSorts has the methods of every kind of server.
type allSorts struct {
	sdk.Server
	sdk.ElementwiseServer
	table sdk.TableServer
}

func (s allSorts) Reset() {
	if s.table != nil {
		s.table.Reset()
	} else if s.Server != nil {
		s.Server.Reset()
	}
}
func (s allSorts) Table() comm.TableSpec             { return s.table.Table() }
func (s allSorts) Lookup(call *comm.TableCall) error { return s.table.Lookup(call) }
func (s allSorts) Update(call *comm.TableCall) error { return s.table.Update(call) }

// echoing returns every trainer its own gradient.
type echoing struct{}

func (echoing) Receive(p sdk.Push) error { return p.Answer(p.Gradient) }
func (echoing) Reset()                   {}

type meaning struct{ share float32 }

func (m meaning) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}
func (m meaning) Finish(sum []float32) { vec.Scale(m.share, sum) }

// The check holds a server to its declared contract, whatever other methods it has.
func TestServersWithMethodsOfOtherSorts(t *testing.T) {
	for name, part := range map[string]sdk.Part{
		"whole gradients": sdk.Asynchronous(sdk.NewServer("tested", struct{}{},
			func(struct{}, sdk.ServerEnv) (sdk.Server, error) {
				return allSorts{Server: echoing{}}, nil
			})),
		"elementwise": sdk.NewElementwiseServer("tested", sdk.OnArrival, struct{}{},
			func(_ struct{}, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
				return allSorts{ElementwiseServer: meaning{1 / float32(env.Trainers)}}, nil
			}),
		"a table": sdk.NewTableServer("tested", struct{}{},
			func(_ struct{}, env sdk.TableEnv) (sdk.TableServer, error) {
				inner, err := toys.Table.Build([]byte("{}"), env)
				if err != nil {
					return nil, err
				}
				return allSorts{table: inner.(sdk.TableServer)}, nil
			}),
	} {
		t.Run(name, func(t *testing.T) {
			s := &harness.Subject{Part: part}
			for _, p := range Of(s) {
				var unseen harness.NotSeen
				if err := p.Check(s); err != nil && !errors.As(err, &unseen) {
					t.Fatalf("%s: %v", p.Name, err)
				}
			}
		})
	}
}
