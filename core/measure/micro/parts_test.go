package micro

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// A server and a hook that speak the protocol run in companions of psbench's own processes. Each of these processes
// gets the address of its companion and only those links that the hook declares.
func TestPartsBesideThoseThatMeasure(t *testing.T) {
	theirs := registry.Plugin{Name: "theirs", Command: []string{"theirs"}}
	p := &Plan{
		Operations: []*bench.Operation{bench.PushPull, bench.Hook}, Fabrics: []*fabric.Fabric{fabric.Default()},
		Sizes: []int{4},
		World: config.World{Trainers: 2, Servers: 1}, Expect: Part, HookExpect: Part,
		HookLinks: registry.Links{Group: true},
		Server:    config.Part{Key: "s", Plugin: theirs, Protocol: true},
		Hook:      config.Part{Key: "h", Plugin: theirs, Protocol: true},
	}
	s := newSession(p)
	w := s.ranks[0]
	if d := cmp.Diff([]string{"trainer0", "trainer1", "server2", "trainer0.part", "trainer1.part", "server2.part"},
		cluster.Names(s.all)); d != "" {
		t.Fatal(d)
	}
	for _, part := range w.parts {
		host := part.host
		if host.part != part || host.Plugin.Name != registry.Builtin || part.Plugin.Name != "theirs" ||
			part.Host != host.Name {
			t.Errorf("%s of plugin %s is beside %s of plugin %s", part.Name, part.Plugin.Name, host.Name,
				host.Plugin.Name)
		}
		its, own := s.configureRequest(part), s.configureRequest(host)
		if its.GetCompanion().GetTrainers() != 2 ||
			its.GetPart().GetKey() != map[bool]string{true: "s", false: "h"}[part.serves] {
			t.Errorf("%s becomes %v", part.Name, its)
		}
		if part.serves {
			if !own.GetServer().GetProtocol() ||
				s.connectRequest(host).GetServer().GetCompanion().GetName() != part.Name {
				t.Errorf("%s becomes %v", host.Name, own)
			}
			continue
		}
		if b := own.GetBench(); !b.GetProtocol() || !slices.Equal(b.GetLinks(), []string{"group"}) ||
			own.GetPart() != nil {
			t.Errorf("%s becomes %v", host.Name, own)
		}
		links := s.connectRequest(host).GetBench()
		if links.GetCompanion().GetName() != part.Name || links.GetServer() == nil {
			t.Errorf("%s joins %v", host.Name, links)
		}
		if hook := s.connectRequest(part).GetCompanion().GetHook(); hook.GetGroup() == nil || hook.GetServer() != nil ||
			hook.GetDefault() != nil {
			t.Errorf("%s is told of %v", part.Name, hook)
		}
	}
	p.Modes, p.Places = []Mode{Fresh}, []Place{InPlace}
	var unchecked []string
	for _, c := range p.cells() {
		unchecked = append(unchecked, p.unchecked(c))
	}
	if d := cmp.Diff([]string{"server s speaks the protocol, and does not declare that it says what it answers",
		"hook h speaks the protocol, and does not declare that it says what it leaves"}, unchecked); d != "" {
		t.Error(d)
	}
	p.Server.Answers, p.Hook.Answers = sdk.AnswersOwn, sdk.AnswersOwn
	if s, h := p.unchecked(p.cells()[0]), p.unchecked(p.cells()[1]); s != "" || h != "" {
		t.Errorf("parts that say what they answer are unchecked: %s, %s", s, h)
	}
	s = newSession(p)
	host, asked := s.ranks[0].trainers[1], s.ranks[0].trainers[1].asked
	if asked == nil || asked.Name != "trainer1.server" ||
		s.connectRequest(host).GetBench().GetAsked().GetName() != asked.Name {
		t.Fatalf("the server is not asked beside %s", host.Name)
	}
	if its := s.configureRequest(asked); its.GetPart().GetKey() != "s" || its.GetCompanion().GetTrainers() != 2 ||
		s.configureRequest(host).GetPart().GetKey() != "s" {
		t.Errorf("%s becomes %v", asked.Name, its)
	}
	if q := s.measureRequest(host, p.cells()[1], 1); q.GetExpect() != proto.MeasureRequest_EXPECT_PART ||
		q.GetServer() != proto.MeasureRequest_EXPECT_PART {
		t.Errorf("%s is to measure %v", host.Name, q)
	}
	p.Places = []Place{Copied}
	p.Width, p.Density, p.Seconds, p.Repeat = 1, 1, 1, 1
	const want = "hook h speaks the protocol, so that its buckets lie where both processes map them: leave --place copy out"
	if err := p.Check(); err == nil || err.Error() != want {
		t.Errorf("the plan is checked with %v", err)
	}
}
