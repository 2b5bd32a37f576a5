// Command dropping is a plugin with a server of an embedding table that answers
// lookups and drops every update.
package main

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

type settings struct {
	NumEmbeddings int     `json:"num_embeddings" doc:"rows of the table"`
	EmbeddingDim  int     `json:"embedding_dim" doc:"columns of the table"`
	LR            float64 `json:"lr" doc:"learning rate, which has no effect"`
}

type server struct {
	settings
	env   sdk.TableEnv
	table []float32
}

func (s *server) Table() comm.TableSpec {
	return comm.TableSpec{Rows: s.NumEmbeddings, Width: s.EmbeddingDim}
}

func (s *server) Reset() {
	s.table = make([]float32, s.NumEmbeddings*s.EmbeddingDim)
	splitmix.Uniform(s.env.Seed, uint64(s.env.Position), s.table, 1)
}

func (s *server) Lookup(call *comm.TableCall) error {
	for i := range call.Bags() {
		sum := call.Columns(i)
		clear(sum)
		for _, row := range call.Bag(i) {
			for k, v := range s.table[int(row)*s.EmbeddingDim : (int(row)+1)*s.EmbeddingDim] {
				sum[k] += v
			}
		}
	}
	return nil
}

func (s *server) Update(*comm.TableCall) error { return nil }

func main() {
	defaults := settings{NumEmbeddings: 300, EmbeddingDim: 64}
	plugin.Serve(sdk.NewTableServer("dropping", defaults, func(s settings, env sdk.TableEnv) (sdk.TableServer, error) {
		return &server{settings: s, env: env}, nil
	}))
}
