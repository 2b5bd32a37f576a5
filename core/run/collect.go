package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// salvageTimeout bounds how long a failed run waits for what its surviving
// processes recorded.
const salvageTimeout = 500 * time.Millisecond

// collected is what one process had to say.
type collected struct {
	replies []*proto.CollectReply
}

// collect fetches every process's metrics and puts them into the result.
func (r *run) collect(ctx context.Context) error {
	got, err := r.fetch(ctx, r.e.Timeout)
	if err != nil {
		return err // what there is will be salvaged
	}
	r.assemble(got)
	return nil
}

// salvage collects from the processes that still answer after a failure.
func (r *run) salvage() {
	ctx, cancel := context.WithTimeout(context.Background(), salvageTimeout)
	defer cancel()
	got := make(map[*seat]collected)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range r.seats.all {
		if s.process == nil {
			continue
		}
		wg.Go(func() {
			c, err := r.fetchOne(ctx, s)
			if err == nil {
				mu.Lock()
				got[s] = c
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	r.assemble(got)
}

func (r *run) fetch(ctx context.Context, timeout time.Duration) (map[*seat]collected, error) {
	got := make(map[*seat]collected)
	var mu sync.Mutex
	err := r.each(ctx, r.seats.all, timeout, "its metrics", func(ctx context.Context, s *seat) error {
		c, err := r.fetchOne(ctx, s)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		got[s] = c
		return nil
	})
	return got, err
}

func (r *run) fetchOne(ctx context.Context, s *seat) (collected, error) {
	var c collected
	stream, err := s.process.Collect(ctx, &proto.CollectRequest{})
	if err != nil {
		return c, err
	}
	for {
		reply, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return c, err
		}
		if err := r.check(s.name, reply); err != nil {
			return c, err
		}
		c.replies = append(c.replies, reply)
	}
}

// check refuses what assemble could not put together.
func (r *run) check(name string, reply *proto.CollectReply) error {
	for _, q := range reply.GetSeries() {
		if n := len(q.GetStartNs()); len(q.GetKeyA()) != n || len(q.GetKeyB()) != n || len(q.GetDurationNs()) != n {
			return fmt.Errorf("%s sent columns of unequal length for its series %s, %s", name, q.GetType(), q.GetName())
		}
	}
	for _, q := range reply.GetEvaluations() {
		if err := checkEvaluation(q, r.e.Epochs); err != nil {
			return fmt.Errorf("%s sent an evaluation that cannot be: %w", name, err)
		}
	}
	return nil
}

// assemble puts what was collected into the result, rank by rank.
func (r *run) assemble(got map[*seat]collected) {
	res := r.result
	res.Losses = make([][]float64, len(r.seats.trainers))
	if r.o.Summarize {
		res.Parameters = make([][]result.ParameterSummary, len(r.seats.trainers))
		if r.e.Service != registry.Gradients {
			res.ServerParameters = make([][]result.ParameterSummary, len(r.seats.servers))
		}
	}
	for _, s := range r.seats.all {
		if s.process == nil {
			continue
		}
		p := result.Process{
			Name: s.name, Rank: s.rank, Kind: string(s.kind), Key: s.part.Key, Plugin: s.part.Plugin.Name,
			PID: s.process.PID(), StartMS: float64(s.process.StartTook) / 1e6, Facts: s.facts,
		}
		if s.trainer != nil {
			p.BoundaryNS = s.trainer.boundaries[string(s.kind)]
		}
		for _, reply := range got[s].replies {
			p.RSSMiB = max(p.RSSMiB, float64(reply.GetPeakRssBytes())/(1<<20))
			for _, series := range reply.GetSeries() {
				res.Samples = append(res.Samples, samples(s.rank, series)...)
			}
			if s.kind == sdk.KindTrainer {
				res.Losses[s.rank] = append(res.Losses[s.rank], reply.GetLosses()...)
			}
			if list := r.parametersOf(s); list != nil {
				for _, q := range reply.GetParameters() {
					*list = append(*list, summary(q))
				}
			}
		}
		res.Environment.NoteBLAS(s.facts)
		res.Processes = append(res.Processes, p)
	}
	res.Evaluation = r.evaluations(got)
}

func samples(rank int, s *proto.Series) []result.Sample {
	out := make([]result.Sample, len(s.GetStartNs()))
	for i := range out {
		out[i] = result.Sample{
			Rank: rank, Type: s.GetType(), Name: s.GetName(),
			Key:     sdk.Key{A: s.GetKeyA()[i], B: s.GetKeyB()[i]}.String(),
			StartNS: s.GetStartNs()[i], DurationNS: s.GetDurationNs()[i],
		}
	}
	return out
}

func summary(q *proto.ParameterSummary) result.ParameterSummary {
	return result.ParameterSummary{
		Name: q.GetName(), Elements: int(q.GetElements()), DeltaSum: q.GetDeltaSum(), DeltaSumSq: q.GetDeltaSumsq(),
		DeltaHead: q.GetDeltaHead(), Head: q.GetHead(),
	}
}

// parametersOf is where the summaries of a process belong, or nil.
func (r *run) parametersOf(s *seat) *[]result.ParameterSummary {
	switch {
	case s.kind == sdk.KindTrainer && r.result.Parameters != nil:
		return &r.result.Parameters[s.rank]
	case s.kind == sdk.KindServer && r.result.ServerParameters != nil:
		return &r.result.ServerParameters[s.position]
	default:
		return nil
	}
}
