package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/engine"
)

// TableServer is a server that holds an embedding table: trainers look bags of rows
// up in it and send back gradients. Its methods are called one at a time, in the order
// in which calls arrive; a slow one delays every trainer.
type TableServer interface {
	// Table is the size of the table; it is asked once, before the first call.
	Table() comm.TableSpec
	// Lookup writes the columns of every bag of the call: the sum of its rows, each as often as
	// the bag holds it, which is 0 for an empty one. Indices lie within the table. An error ends
	// the run, as it does for Update.
	Lookup(call *comm.TableCall) error
	// Update applies the gradient of every bag of the call, which is that of the
	// trainer's last Lookup: to each row of the bag, as often as the bag holds it.
	Update(call *comm.TableCall) error
	// Reset returns the table to its initial values; it is called before each pass.
	Reset()
}

// TableEnv is what a table server knows of its run.
type TableEnv struct {
	Rank     int
	Name     string
	Position int // among the servers: also the number of its tensor
	Seed     uint64
	Trainers int // of the run; all of them use every table
	Recorder *Recorder
	// Engine owns the memory of the table; calls lie in ordinary memory.
	Engine engine.Engine
}

// Tables are the embedding tables of a run as a trainer sees them.
type Tables struct {
	// Store holds what the trainer asks for and what it gets, joined over the tables.
	Store *comm.LookupStore
	// Links lead to the servers, in their order.
	Links []comm.TableLink
}
