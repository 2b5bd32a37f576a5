package run

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/sdk"
)

// planAndPartition asks the trainers which parameters they reduce together and which inputs they take. It then asks the
// data process for matching batches. Both answers depend on the model and on the servers' tables, which are known by
// now.
func (r *run) planAndPartition(ctx context.Context) error {
	for _, t := range r.processes.trainers {
		if err := t.holder(sdk.KindModel).checkModel(); err != nil {
			return err
		}
	}
	r.model = *r.processes.trainers[0].holder(sdk.KindModel).model
	if err := r.checkSteps(); err != nil {
		return err
	}
	tables, err := r.tables()
	if err != nil {
		return err
	}
	err = cluster.Each(ctx, r.cluster, r.processes.trainers, cluster.Wait{Limit: r.e.Timeout, For: "its plan"},
		func(ctx context.Context, p *process) error {
			reply, err := p.Plan(ctx, r.planRequest(tables))
			p.planned(reply)
			return err
		})
	if err != nil {
		return err
	}
	if err := r.agreeOnPlan(); err != nil {
		return err
	}
	if err := r.planTraffic(ctx); err != nil {
		return err
	}
	// This call has no deadline, because reading all data may take any time. The data process itself reports a stall.
	if err := cluster.Each(ctx, r.cluster, []*process{r.processes.data}, cluster.Unbounded, r.partition); err != nil {
		return err
	}
	r.size(tables)
	return nil
}

// checkModel returns an error if the process's description of its model is invalid.
func (p *process) checkModel() error {
	if p.model == nil {
		return fmt.Errorf("%s: it did not describe its model when it was configured", p.Name)
	}
	for k := range p.model.Parameters {
		if err := layout.CheckShape(&p.model.Parameters[k]); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// checkSteps returns an error if a model steps its parameters itself and another part would step them too.
func (r *run) checkSteps() error {
	if !r.model.Steps {
		return nil
	}
	model := r.e.Parts[sdk.KindModel].Key
	if r.e.Service == sdk.ServiceParameters {
		return fmt.Errorf(
			"model %s steps its parameters itself, but server %s does that: choose a server that reduces gradients",
			model, r.e.Parts[sdk.KindServer].Key)
	}
	t := r.processes.trainers[0]
	if host.ParseVersion(t.Contract()).Before(host.Protocol) {
		return fmt.Errorf("model %s steps its parameters itself, and trainer %s of plugin %s, which speaks version %s of psbench's contract with plugins, would step them a second time: build it with the sdk of this psbench",
			model, r.e.Parts[sdk.KindTrainer].Key, t.Plugin.Name, t.Contract())
	}
	return nil
}

// tables returns the servers' tables, in the order of the servers.
func (r *run) tables() ([]comm.TableSpec, error) {
	if r.e.Service != sdk.ServiceTables {
		return nil, nil
	}
	for _, s := range r.processes.servers {
		if s.table == nil {
			return nil, fmt.Errorf("%s has no table, though %s says that server %s serves tables", s.Name,
				s.Plugin.Name, r.e.Parts[s.kind].Key)
		}
		r.result.Tables = append(r.result.Tables, *s.table)
	}
	// Tables that alone need too much memory are rejected before any data is read.
	return r.result.Tables, comm.ReserveTables(cluster.Names(r.processes.servers), r.result.Tables, comm.LookupSpec{},
		0)
}

// agreeOnPlan returns an error unless all trainers made the same plan.
func (r *run) agreeOnPlan() error {
	first := r.processes.trainers[0]
	for _, t := range r.processes.trainers {
		if t.plan.inputs == nil {
			return fmt.Errorf("%s does not say what data it takes: its plan has no inputs", t.Name)
		}
		if !reflect.DeepEqual(first.plan.buckets, t.plan.buckets) {
			return fmt.Errorf("%s and %s plan different buckets: the plan must depend on the model alone", first.Name,
				t.Name)
		}
		if !reflect.DeepEqual(first.plan.inputs, t.plan.inputs) {
			return fmt.Errorf("%s and %s take different data: the plan must depend on the model and the tables alone",
				first.Name, t.Name)
		}
	}
	return nil
}

func (r *run) partition(ctx context.Context, data *process) error {
	reply, err := data.Partition(ctx, r.partitionRequest())
	if err != nil {
		r.unfit = status.Code(err) == codes.Unknown // a refusal by the process itself has this code
		return err
	}
	p := partitioned(reply)
	r.shares, r.streamed = p.Shares, p.Streamed
	if len(r.shares) != len(r.processes.trainers) {
		return fmt.Errorf("%s made %d shares for %d trainers", data.Name, len(r.shares), len(r.processes.trainers))
	}
	if err := r.checkFloatTargets(); err != nil {
		return err
	}
	if p.OwnBatches {
		r.warnBatchSize()
	}
	r.settle()
	d := &r.result.Data
	d.OwnBatches, d.Streamed, d.HeldOut = p.OwnBatches, p.Streamed, p.HeldOut
	d.Samples, d.Batches, d.DroppedBatches = p.Samples, p.Batches, p.Dropped
	for _, s := range r.shares {
		d.LargestBatch = max(d.LargestBatch, s.BatchSamples)
		d.BatchesPerTrainer = append(d.BatchesPerTrainer, s.Batches)
		d.SamplesPerTrainer = append(d.SamplesPerTrainer, s.Samples)
	}
	return nil
}

// checkFloatTargets returns an error if the targets are numbers but the plugin of a trainer or model is too old for
// them.
func (r *run) checkFloatTargets() error {
	if r.shares[0].TargetWidth == 0 {
		return nil
	}
	for _, t := range r.processes.trainers {
		for _, p := range []*process{t, t.holder(sdk.KindModel)} {
			if host.ParseVersion(p.Contract()).Before(host.FloatTargets) {
				return fmt.Errorf("the targets of data %s are numbers, but %s %s of plugin %s speaks version %s of psbench's contract with plugins, which supports only classes: build it for version %s",
					r.e.Parts[sdk.KindData].Key, p.kind, r.e.Parts[p.kind].Key, p.Plugin.Name, p.Contract(),
					host.FloatTargets)
			}
		}
	}
	return nil
}

// warnBatchSize warns that the batch size has no effect, if it differs from the default. It is silent about the
// default, because a recorded configuration contains the default too.
func (r *run) warnBatchSize() {
	o, _ := option.Of("batch_size")
	for _, v := range r.e.Values {
		if v.Key == o.Key && !strings.HasPrefix(v.Origin, "default") && fmt.Sprint(v.Value) != o.Default {
			r.result.Warnings = append(r.result.Warnings,
				fmt.Sprintf("batch_size (%s) has no effect: data %s cuts its own batches", v.Origin,
					r.e.Parts[sdk.KindData].Key))
		}
	}
}

// size sets the memory that the links need for the batches. A sparse bucket gets room for the most rows that the
// trainers on one link can touch, but not for more rows than its table has. A lookup gets room for the largest batch of
// any trainer. If there are several tables, every index is a bag of its own.
func (r *run) size(tables []comm.TableSpec) {
	rows := 0
	for _, set := range r.e.World.Sets(r.e.Links) {
		connected := 0
		for _, t := range set {
			connected += r.shares[t].DistinctRows
		}
		rows = max(rows, connected)
	}
	buckets := r.buckets()
	for i := range buckets {
		if b := &buckets[i]; b.Sparse {
			b.Capacity = min(rows, b.TableRows)
		}
	}
	r.result.Buckets = buckets
	if tables == nil {
		return
	}
	r.lookup = &comm.LookupSpec{Tables: tables}
	several := len(r.inputs().Tables) > 0
	for _, s := range r.shares {
		bags := s.BatchSamples
		if several {
			bags = s.BatchIndices
		}
		r.lookup.Bags = max(r.lookup.Bags, bags)
		r.lookup.Indices = max(r.lookup.Indices, s.BatchIndices)
	}
}

// buckets returns the buckets that all trainers have planned.
func (r *run) buckets() []tensor.BucketSpec { return r.processes.trainers[0].plan.buckets }
func (r *run) inputs() *sdk.InputSpec       { return r.processes.trainers[0].plan.inputs }
