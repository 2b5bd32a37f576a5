package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/engine"
)

// TableServer is a server that holds an embedding table. Trainers look up bags of rows and send
// back gradients. The host calls the methods one at a time, in the order in which calls arrive. A
// slow method delays every trainer.
type TableServer interface {
	// Table returns the size of the table. Table is called once, before the first call.
	Table() comm.TableSpec
	// Lookup writes the sum of rows for every bag of the call. A row counts as often as the bag holds
	// it. An empty bag gives 0. The host has checked that all indices lie within the table. An error
	// ends the run.
	Lookup(call *comm.TableCall) error
	// Update applies the gradient of every bag to each row of the bag, as often as the bag holds the
	// row. The call is the same as in the trainer's last Lookup. An error ends the run.
	Update(call *comm.TableCall) error
	// Reset restores the initial values of the table. Reset is called before each pass.
	Reset()
}

// TableEnv holds the facts about a run that its table servers get.
type TableEnv struct {
	Rank     int
	Name     string
	Position int // position among the servers; also the number of its tensor
	Seed     uint64
	Trainers int // number of trainers in the run; all of them use every table
	Recorder *Recorder
	// Engine owns the memory of the table. Calls lie in ordinary memory.
	Engine engine.Engine
}

// Tables gives a trainer access to the embedding tables of a run.
type Tables struct {
	// Store holds the trainer's requests and their results for all tables together.
	Store *comm.LookupStore
	// Links lead to the servers, in server order.
	Links []comm.TableLink
}
