package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/engine"
)

// TableServer is a server that holds an embedding table. Trainers look up bags of rows
// in it and send back gradients. Its methods are called one at a time, in the order
// in which calls arrive; a slow one delays every trainer.
type TableServer interface {
	// Table returns the size of the table. It is called once, before the first call.
	Table() comm.TableSpec
	// Lookup writes the sum of the rows of every bag of the call. A row counts as often as the bag
	// holds it; an empty bag gives 0. The host has checked that indices lie within the table. An
	// error ends the run.
	Lookup(call *comm.TableCall) error
	// Update applies the gradient of every bag to each row of the bag, as often as the bag
	// holds it. The call is the one of the trainer's last Lookup. An error ends the run.
	Update(call *comm.TableCall) error
	// Reset restores the initial values of the table. It is called before each pass.
	Reset()
}

// TableEnv holds the facts about a run that its table servers get.
type TableEnv struct {
	Rank     int
	Name     string
	Position int // among the servers: also the number of its tensor
	Seed     uint64
	Trainers int // of the run; all trainers use every table
	Recorder *Recorder
	// Engine owns the memory of the table; calls lie in ordinary memory.
	Engine engine.Engine
}

// Tables are the embedding tables of a run as a trainer sees them.
type Tables struct {
	// Store holds the trainer's requests and their results, joined over the tables.
	Store *comm.LookupStore
	// Links lead to the servers, in their order.
	Links []comm.TableLink
}
