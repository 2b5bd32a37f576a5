package sdk

import (
	"strconv"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// joinLinks joins the links that the hook uses, in the process that holds it.
func (st *station) joinLinks(req *proto.ConnectRequest) (HookEnv, error) {
	env := HookEnv{
		Rank: st.rank(), Name: st.name(), Trainers: int(st.req.GetTrainers()),
		Backend: st.req.GetBackend(), Recorder: st.recorder,
	}
	specs := BucketsFromProto(req.GetBuckets())
	if server := req.GetServer(); server != nil {
		conn, err := st.dial(server, purposePush)
		if err != nil {
			return env, err
		}
		link := comm.NewServerLink(conn, specs, st.timeout)
		st.own(link)
		env.Server = link
	}
	if req.GetGroup() {
		ring, err := st.joinRing(req, specs, purposeGroup)
		if err != nil {
			return env, err
		}
		env.Group = ring
	}
	if req.GetDefaultGroup() {
		ring, err := st.joinRing(req, specs, purposeDefault)
		if err != nil {
			return env, err
		}
		env.Default = ring
	}
	return env, nil
}

func (st *station) joinRing(req *proto.ConnectRequest, specs []comm.BucketSpec, purpose string) (*comm.Ring, error) {
	peers, position := req.GetRing(), int(req.GetPosition())
	size := len(peers)
	var next, prev *comm.Conn
	if size > 1 {
		var err error
		if next, err = st.dial(peers[(position+1)%size], purpose); err != nil {
			return nil, err
		}
		if prev, err = st.accept(peers[(position+size-1)%size], purpose); err != nil {
			return nil, err
		}
	}
	ring := comm.NewRing(st.name(), position, size, next, prev, specs, st.timeout)
	st.own(ring)
	return ring, nil
}

func describeBucket(batch int64, bucket int) string {
	return "batch " + strconv.FormatInt(batch, 10) + ", bucket " + strconv.Itoa(bucket)
}
