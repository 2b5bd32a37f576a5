package points

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// tablePoints are those of servers of tables.
var tablePoints = []Point{
	{
		Name:    "lookup",
		Promise: "Lookup writes all columns of every bag that it is asked for, empty ones too, and nothing beside them",
		rank:    linkedLookup,
		alone: func(s *Subject) error {
			return s.withTable(func(server sdk.TableServer, spec comm.TableSpec) error {
				for _, bags := range tableBags(spec) {
					if _, err := lookup(server, spec, bags); err != nil {
						return err
					}
				}
				return nil
			})
		},
	},
	{
		Name:    "update",
		Promise: "Update applies the gradient of every bag, of indices that come twice as well, and changes no other row",
		rank:    func(r *Rank) error { return linkedUpdate(r, 0, r.Tables.Store.Tables[0].Rows-1) },
		alone: func(s *Subject) error {
			return s.withTable(func(server sdk.TableServer, spec comm.TableSpec) error {
				last := int64(spec.Rows - 1)
				bags := [][]int64{{0, 0}, {0}}
				before, err := lookup(server, spec, [][]int64{{0}, {last}})
				if err != nil {
					return err
				}
				if _, err := lookup(server, spec, bags); err != nil {
					return err
				}
				if err := update(server, spec, bags); err != nil {
					return err
				}
				after, err := lookup(server, spec, [][]int64{{0}, {last}})
				switch {
				case err != nil:
					return err
				case slices.Equal(before[0], after[0]):
					return fmt.Errorf("row 0 is %v before and after its gradient was applied", after[0][:1])
				case last > 0 && !slices.Equal(before[1], after[1]):
					return fmt.Errorf("row %d, which no bag held, was %v and is %v", last, before[1][:1], after[1][:1])
				}
				return nil
			})
		},
	},
	{
		Name:    "ranks",
		Promise: "trainers call at the same time, and each has its own answers",
		Ranks:   3,
		rank: func(r *Rank) error {
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
		rank: func(r *Rank) error {
			for updates := range 2 {
				values, err := r.lookUp([][]int64{{0}, {int64(r.Tables.Store.Tables[0].Rows - 1)}})
				if err != nil {
					return err
				}
				if err := r.again(fmt.Sprintf("what is looked up after %d updates", updates), &tensor.Gradient{Values: values}); err != nil {
					return err
				}
				if err := r.update(); err != nil {
					return err
				}
			}
			return nil
		},
		alone: func(s *Subject) error {
			return s.withTable(func(server sdk.TableServer, spec comm.TableSpec) error {
				bags := [][]int64{{0}, {int64(spec.Rows - 1)}}
				var passes [2][][]float32
				for pass := range passes {
					server.Reset()
					for range 2 {
						var err error
						if passes[pass], err = lookup(server, spec, bags); err != nil {
							return err
						}
						if err := update(server, spec, bags); err != nil {
							return err
						}
					}
				}
				for i := range bags {
					if !slices.Equal(passes[0][i], passes[1][i]) {
						return fmt.Errorf("after one update row %d begins with %g in the first pass and with %g in the second", bags[i][0], passes[0][i][0], passes[1][i][0])
					}
				}
				return nil
			})
		},
	},
}

// tableBags are bags of one row, of several, of the same row twice, and of none.
func tableBags(spec comm.TableSpec) [][][]int64 {
	last := int64(spec.Rows - 1)
	return [][][]int64{{{0}}, {{last}, {}, {0, last}, {0, 0, 0}}, {}}
}

// withTable builds the server, whose Table and Reset have been called.
func (s *Subject) withTable(f func(sdk.TableServer, comm.TableSpec) error) error {
	made, err := s.build(s.settings())
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

// margin is how many values lie between the columns of two bags, which belong to other tables.
const margin = 5

// call is one about bags; all of its values are v.
func call(spec comm.TableSpec, bags [][]int64, v float32) *comm.TableCall {
	c := &comm.TableCall{Offsets: []int64{0}, Width: spec.Width, Stride: spec.Width + margin}
	for _, bag := range bags {
		c.Indices = append(c.Indices, bag...)
		c.Offsets = append(c.Offsets, int64(len(c.Indices)))
	}
	c.Values = make([]float32, len(bags)*c.Stride)
	for i := range c.Values {
		c.Values[i] = v
	}
	return c
}

// lookup gives the columns of each bag.
func lookup(server sdk.TableServer, spec comm.TableSpec, bags [][]int64) ([][]float32, error) {
	poison := float32(math.Inf(1))
	c := call(spec, bags, poison)
	if err := server.Lookup(c); err != nil {
		return nil, err
	}
	var out [][]float32
	for i := range bags {
		if err := finite(fmt.Sprintf("the lookup of bag %v", bags[i]), c.Columns(i)); err != nil {
			return nil, err
		}
		for _, v := range c.Values[i*c.Stride+c.Width : (i+1)*c.Stride] {
			if v != poison {
				return nil, fmt.Errorf("the lookup of bag %v writes behind its %d columns", bags[i], c.Width)
			}
		}
		out = append(out, c.Columns(i))
	}
	return out, nil
}

func update(server sdk.TableServer, spec comm.TableSpec, bags [][]int64) error {
	c := call(spec, bags, 0.5)
	c.Update = true
	return server.Update(c)
}
