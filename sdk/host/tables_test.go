package host

import (
	"reflect"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/internal/hosttest"
	"github.com/psbench/psbench/sdk/host/server"
	"github.com/psbench/psbench/sdk/host/table"
	"github.com/psbench/psbench/sdk/proto"
)

// unit is a table of one element.
type unit struct{ sdk.TableServer }

func (unit) Table() comm.TableSpec { return comm.TableSpec{Rows: 1, Width: 1} }

// What a server serves decides its role.
func TestRolesOfServers(t *testing.T) {
	parts := []sdk.Part{
		sdk.NewServer("plain", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) { return nil, nil }),
		sdk.NewParameterServer("model", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) { return nil, nil }),
		sdk.NewTableServer("table", struct{}{}, func(struct{}, sdk.TableEnv) (sdk.TableServer, error) { return unit{}, nil }),
	}
	for key, want := range map[string]role{"plain": &server.Role{}, "model": &server.Role{}, "table": &table.Role{}, "other": nil} {
		st := hosttest.Process(t, hosttest.Folder(t), parts, &proto.ConfigureRequest{Name: "server1", Part: &proto.PartChoice{Kind: "server", Key: key}})
		r, err := newRole(st)
		if want == nil {
			if err == nil || err.Error() != `this plugin has no server "other"` {
				t.Errorf("a server that is not there gave %v", err)
			}
			continue
		}
		if err != nil || reflect.TypeOf(r) != reflect.TypeOf(want) {
			t.Errorf("server %s became %T, %v", key, r, err)
		}
	}
}
