// Command stuck is a plugin with a server of an embedding table. Of the servers of a
// run the second one never returns from a call of its measured pass, and a file says
// that it is in there: it then holds the process's id.
package main

import (
	"os"
	"strconv"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

type settings struct {
	EmbeddingDim int    `json:"embedding_dim" doc:"columns of the table"`
	Inside       string `json:"inside" doc:"the call: lookup or update"`
	File         string `json:"file" doc:"file that appears when the server is inside"`
}

type server struct {
	settings
	env    sdk.TableEnv
	passes int
}

func (s *server) Table() comm.TableSpec {
	return comm.TableSpec{Rows: 300, Width: s.EmbeddingDim}
}

func (s *server) Reset() { s.passes++ }

func (s *server) Lookup(call *comm.TableCall) error {
	for i := range call.Bags() {
		clear(call.Columns(i))
	}
	return s.stay("lookup")
}

func (s *server) Update(*comm.TableCall) error { return s.stay("update") }

func (s *server) stay(call string) error {
	if s.env.Position != 1 || s.passes < 2 || s.Inside != call {
		return nil
	}
	// Renamed, the file is there with its content or not at all.
	if err := os.WriteFile(s.File+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if err := os.Rename(s.File+".new", s.File); err != nil {
		return err
	}
	select {}
}

func main() {
	plugin.Serve(sdk.NewTableServer("stuck", settings{EmbeddingDim: 64},
		func(s settings, env sdk.TableEnv) (sdk.TableServer, error) {
			return &server{settings: s, env: env}, nil
		}))
}
