package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/psbench/psbench/core/process/agent/proto"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/process/launch"
	partproto "github.com/psbench/psbench/sdk/proto"
)

// process is a process that an agent started. The core calls it through a tunnel.
type process struct {
	partproto.PartClient
	remote   *remote
	name     string
	site     cluster.Site
	pid      int
	took     time.Duration
	contract string
	conn     *grpc.ClientConn
	exited   chan struct{}
	once     sync.Once
}

var _ cluster.Process = (*process)(nil)

// end records that the process has ended or is unreachable.
func (p *process) end() {
	p.once.Do(func() {
		close(p.exited)
		_ = p.conn.Close()
	})
}

// Site implements cluster.Process.
func (p *process) Site() cluster.Site { return p.site }

// PID implements cluster.Process.
func (p *process) PID() int { return p.pid }

// StartTook implements cluster.Process.
func (p *process) StartTook() time.Duration { return p.took }

// Contract implements cluster.Process.
func (p *process) Contract() string { return p.contract }

// Exited implements cluster.Process.
func (p *process) Exited() <-chan struct{} { return p.exited }

// explainLimit limits how long the core waits when it asks for a process's last output.
const explainLimit = 2 * time.Second

// explain asks the agent about the process. explain returns nil if the agent is lost.
func (p *process) explain(phase string) *proto.ExplainReply {
	ctx, cancel := context.WithTimeout(context.Background(), explainLimit)
	defer cancel()
	ctx, stop := p.remote.host.alive(ctx)
	defer stop()
	reply, err := p.remote.host.agent.Explain(ctx, &proto.ExplainRequest{Name: p.name, Phase: phase})
	if err != nil {
		return nil
	}
	return reply
}

// LastWords implements cluster.Process.
func (p *process) LastWords() string { return p.explain("").GetLastWords() }

// Raised implements cluster.Process.
func (p *process) Raised() (what, where string) {
	reply := p.explain("")
	return reply.GetRaised(), reply.GetRaisedWhere()
}

// Death implements cluster.Process.
func (p *process) Death(phase string) error {
	if death := p.explain(phase).GetDeath(); death != "" {
		return launch.DeathElsewhere(p.remote.host.Name, death)
	}
	h := p.remote.host
	why := "its agent does not say how it ended"
	if lost := h.lost(); lost != nil {
		why = lost.Error()
	}
	return &cluster.LostError{
		Err: launch.DeathElsewhere(h.Name,
			fmt.Sprintf("%s (process %d) was lost during %s: %s", p.name, p.pid, phase, why)),
	}
}
