package run

import (
	"context"
	"fmt"
	"strings"

	gproto "google.golang.org/protobuf/proto"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/cluster"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/proto"
)

// planAndPartition asks the trainers what they reduce together and what data they take,
// then the data process for such batches. Both follow from the model and the tables
// of the servers, which are known now.
func (r *run) planAndPartition(ctx context.Context) error {
	r.model = r.processes.trainers[0].holder(sdk.KindModel).model
	for _, t := range r.processes.trainers {
		if t.holder(sdk.KindModel).model == nil {
			return fmt.Errorf("%s has no model", t.Name)
		}
	}
	tables, err := r.tables()
	if err != nil {
		return err
	}
	err = cluster.Each(ctx, r.cluster, r.processes.trainers, cluster.Wait{Limit: r.e.Timeout, For: "its plan"}, func(ctx context.Context, p *process) error {
		plan, err := p.Plan(ctx, &proto.PlanRequest{Model: r.model, Tables: tables})
		p.plan = plan
		return err
	})
	if err != nil {
		return err
	}
	if err := r.agreeOnPlan(); err != nil {
		return err
	}
	// No deadline: reading all data once takes as long as it takes. The data process says
	// so itself if it does not come on.
	if err := cluster.Each(ctx, r.cluster, []*process{r.processes.data}, cluster.Unbounded, r.partition); err != nil {
		return err
	}
	r.size(tables)
	return nil
}

// tables are those of the servers, in their order.
func (r *run) tables() ([]*proto.Table, error) {
	if r.e.Service != sdk.ServiceTables {
		return nil, nil
	}
	var tables []*proto.Table
	for _, s := range r.processes.servers {
		if s.table == nil {
			return nil, fmt.Errorf("%s has no table, though %s says that server %s serves tables", s.Name, s.part.Plugin.Name, s.part.Key)
		}
		tables = append(tables, s.table)
		r.result.Tables = append(r.result.Tables, comm.TableSpec{Rows: int(s.table.GetRows()), Width: int(s.table.GetWidth())})
	}
	// What is too large by itself needs no data to be found out.
	return tables, comm.ReserveTables(cluster.Names(r.processes.servers), r.result.Tables, comm.LookupSpec{}, 0)
}

// agreeOnPlan checks that all trainers planned the same.
func (r *run) agreeOnPlan() error {
	first := r.processes.trainers[0]
	for _, t := range r.processes.trainers {
		if t.plan.GetInputs() == nil {
			return fmt.Errorf("%s does not say what data it takes: its plan has no inputs", t.Name)
		}
		if !gproto.Equal(&proto.PlanReply{Buckets: first.plan.GetBuckets()}, &proto.PlanReply{Buckets: t.plan.GetBuckets()}) {
			return fmt.Errorf("%s and %s plan different buckets: the plan must depend on the model alone", first.Name, t.Name)
		}
		if !gproto.Equal(first.plan.GetInputs(), t.plan.GetInputs()) {
			return fmt.Errorf("%s and %s take different data: the plan must depend on the model and the tables alone", first.Name, t.Name)
		}
	}
	return nil
}

func (r *run) partition(ctx context.Context, data *process) error {
	req := &proto.PartitionRequest{
		Inputs:    r.processes.trainers[0].plan.GetInputs(),
		BatchSize: int32(r.e.BatchSize), // #nosec G115 -- checked by config
	}
	for _, set := range r.e.World.Sets(r.e.Links) {
		s := &proto.TrainerSet{}
		for _, t := range set {
			s.Trainers = append(s.Trainers, int32(t)) // #nosec G115 -- a rank
		}
		req.Sets = append(req.Sets, s)
	}
	reply, err := data.Partition(ctx, req)
	if err != nil {
		return err
	}
	r.shares, r.streamed = reply.GetShares(), reply.GetStreamed()
	if len(r.shares) != len(r.processes.trainers) {
		return fmt.Errorf("%s made %d shares for %d trainers", data.Name, len(r.shares), len(r.processes.trainers))
	}
	if reply.GetOwnBatches() {
		r.warnBatchSize()
	}
	d := &r.result.Data
	d.OwnBatches, d.Streamed, d.HeldOut = reply.GetOwnBatches(), r.streamed, int(reply.GetHeldOut())
	d.Samples, d.Batches, d.DroppedBatches = int(reply.GetSamples()), int(reply.GetBatches()), int(reply.GetDropped())
	for _, s := range r.shares {
		d.LargestBatch = max(d.LargestBatch, int(s.GetBatchSamples()))
		d.BatchesPerTrainer = append(d.BatchesPerTrainer, int(s.GetBatches()))
		d.SamplesPerTrainer = append(d.SamplesPerTrainer, int(s.GetSamples()))
	}
	return nil
}

// warnBatchSize says that the batch size has no effect, if somebody gave one.
func (r *run) warnBatchSize() {
	for _, v := range r.e.Values {
		if v.Key == "batch_size" && !strings.HasPrefix(v.Origin, "default") {
			r.result.Warnings = append(r.result.Warnings, fmt.Sprintf("%s has no effect: data %s cuts its own batches", v.Origin, r.processes.data.part.Key))
		}
	}
}

// size gives what the links carry the room that the batches need. A sparse bucket gets
// what those of the connected trainers can touch at most, and never more than its table
// has; a lookup gets the largest batch of any trainer. Where there are several tables every
// index is a bag of its own.
func (r *run) size(tables []*proto.Table) {
	var rows int64
	for _, set := range r.e.World.Sets(r.e.Links) {
		var connected int64
		for _, t := range set {
			connected += r.shares[t].GetDistinctRows()
		}
		rows = max(rows, connected)
	}
	for _, b := range r.buckets() {
		if b.GetSparse() {
			b.Capacity = min(rows, b.GetTableRows())
		}
	}
	r.result.Buckets = convert.BucketsFromProto(r.buckets())
	if tables == nil {
		return
	}
	r.lookup = &proto.Lookup{Tables: tables}
	several := len(r.processes.trainers[0].plan.GetInputs().GetTables()) > 0
	for _, s := range r.shares {
		bags := s.GetBatchSamples()
		if several {
			bags = s.GetBatchIndices()
		}
		r.lookup.Bags = max(r.lookup.Bags, bags)
		r.lookup.Indices = max(r.lookup.Indices, s.GetBatchIndices())
	}
}

// buckets are those that all trainers planned.
func (r *run) buckets() []*proto.Bucket { return r.processes.trainers[0].plan.GetBuckets() }
