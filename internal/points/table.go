package points

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// tablePoints are the points of servers of tables.
var tablePoints = []harness.Point{
	{
		Name:    "lookup",
		Promise: "Lookup writes the sum of its rows for every bag of the call, 0 for empty ones, and nothing else",
		OnRank:  linkedLookup,
		Alone: func(s *harness.Subject) error {
			return withTable(s, func(server sdk.TableServer, spec comm.TableSpec) error {
				return sums(spec.Rows, func(bags [][]int64) ([][]float32, error) { return lookup(server, spec, bags) })
			})
		},
	},
	{
		Name: "update",
		Promise: "Update applies the gradient of every bag to each of its rows, as often as the bag holds the row, " +
			"and changes no other row",
		OnRank: linkedUpdates,
		Alone: func(s *harness.Subject) error {
			return withTable(s, func(server sdk.TableServer, spec comm.TableSpec) error {
				look := func(bags [][]int64) ([][]float32, error) { return lookup(server, spec, bags) }
				err := everyRow(spec.Rows, look, func(bags [][]int64) error {
					return teach(server, spec, bags, slices.Repeat([]float32{0.5}, len(bags)))
				})
				if err != nil {
					return err
				}
				return everyTime(server, spec)
			})
		},
	},
	{
		Name:    "ranks",
		Promise: "trainers call at the same time, and each has its own answers",
		Ranks:   3,
		OnRank: func(r *harness.Rank) error {
			for range 8 {
				if err := linkedUpdate(r, r.Position%r.Tables.Store.Tables[0].Rows, -1); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		Name:    "reset",
		Promise: "Reset returns the table to its initial values",
		Passes:  2,
		OnRank: func(r *harness.Rank) error {
			for updates := range 2 {
				values, err := lookUp(r, [][]int64{{0}, {int64(r.Tables.Store.Tables[0].Rows - 1)}})
				if err != nil {
					return err
				}
				if err := r.Again(fmt.Sprintf("what is looked up after %d updates",
					updates), &tensor.Gradient{Values: values}); err != nil {
					return err
				}
				if err := update(r); err != nil {
					return err
				}
			}
			return nil
		},
		Alone: func(s *harness.Subject) error {
			return withTable(s, func(server sdk.TableServer, spec comm.TableSpec) error {
				bags := [][]int64{{0}, {int64(spec.Rows - 1)}}
				var passes [2][][]float32
				for pass := range passes {
					server.Reset()
					for range 2 {
						var err error
						if passes[pass], err = lookup(server, spec, bags); err != nil {
							return err
						}
						if err := teach(server, spec, bags, []float32{0.5, 0.5}); err != nil {
							return err
						}
					}
				}
				for i := range bags {
					if !slices.Equal(passes[0][i], passes[1][i]) {
						return fmt.Errorf("after one update row %d begins with %g in the first pass and with %g in "+
							"the second",
							bags[i][0], passes[0][i][0], passes[1][i][0])
					}
				}
				return nil
			})
		},
	},
}

// withTable builds the server and calls its Table and Reset before f.
func withTable(s *harness.Subject, f func(sdk.TableServer, comm.TableSpec) error) error {
	made, err := s.Build(s.BuiltWith())
	if err != nil {
		return err
	}
	defer closePart(made)
	server := made.(sdk.TableServer)
	spec := server.Table()
	if err := spec.Check(); err != nil {
		return err
	}
	server.Reset()
	return f(server, spec)
}

// margin is the number of values between the columns of two bags. These values belong to other tables.
const margin = 5

// call returns a call with these bags. All values of bag i are values[i].
func call(spec comm.TableSpec, bags [][]int64, values []float32) *comm.TableCall {
	c := &comm.TableCall{Offsets: []int64{0}, Width: spec.Width, Stride: spec.Width + margin}
	for i, bag := range bags {
		c.Indices = append(c.Indices, bag...)
		c.Offsets = append(c.Offsets, int64(len(c.Indices)))
		c.Values = append(c.Values, slices.Repeat(values[i:i+1], c.Stride)...)
	}
	return c
}

// lookup returns the columns of each bag.
func lookup(server sdk.TableServer, spec comm.TableSpec, bags [][]int64) ([][]float32, error) {
	poison := float32(math.Inf(1))
	c := call(spec, bags, slices.Repeat([]float32{poison}, len(bags)))
	if err := server.Lookup(c); err != nil {
		return nil, err
	}
	var out [][]float32
	for i, bag := range bags {
		if err := harness.Finite(fmt.Sprintf("the lookup of bag %v", bag), c.Columns(i)); err != nil {
			return nil, err
		}
		for _, v := range c.Values[i*c.Stride+c.Width : (i+1)*c.Stride] {
			if v != poison {
				return nil, fmt.Errorf("the lookup of bag %v writes behind its %d columns", bag, c.Width)
			}
		}
		out = append(out, c.Columns(i))
	}
	return out, nil
}

// teach looks up bags and applies gradients to them. All columns of bag i's gradient are gradients[i].
func teach(server sdk.TableServer, spec comm.TableSpec, bags [][]int64, gradients []float32) error {
	if _, err := lookup(server, spec, bags); err != nil {
		return err
	}
	c := call(spec, bags, gradients)
	c.Update = true
	return server.Update(c)
}
