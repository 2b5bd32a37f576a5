package host

import (
	"reflect"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/server"
	"github.com/psbench/psbench/internal/host/table"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// unit is a server of a table with one element.
type unit struct{ sdk.TableServer }

func (unit) Table() comm.TableSpec { return comm.TableSpec{Rows: 1, Width: 1} }

// A process accepts the role of a server only if its part offers the service that the role needs:
// tables or buckets.
func TestRolesOfServers(t *testing.T) {
	parts := []sdk.Part{
		sdk.NewServer("plain", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) { return nil, nil }),
		sdk.NewParameterServer("model", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) {
			return nil, nil
		}),
		sdk.NewTableServer("table", struct{}{}, func(struct{}, sdk.TableEnv) (sdk.TableServer, error) {
			return unit{}, nil
		}),
	}
	const serves = " of this plugin serves "
	for _, c := range []struct {
		key   string
		table bool
		want  role
		err   string
	}{
		{"plain", false, &server.Role{}, ""},
		{"model", false, &server.Role{}, ""},
		{"table", true, &table.Role{}, ""},
		{"plain", true, nil, "server plain" + serves + "gradients, which is not what it was configured for"},
		{"table", false, nil, "server table" + serves + "tables, which is not what it was configured for"},
		{"other", true, nil, `this plugin has no server "other"`},
	} {
		t.Run(c.key, func(t *testing.T) {
			p := hosttest.Process(t, hosttest.Folder(t), parts,
				process.Config{Name: "server1", Part: hosttest.Choice("server", c.key)})
			req := &proto.ConfigureRequest{Role: &proto.ConfigureRequest_Server{}}
			if c.table {
				req.Role = &proto.ConfigureRequest_Table{}
			}
			r, err := newRole(p, req)
			if c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("%s, table %v: %v, want %q", c.key, c.table, err, c.err)
			}
			if c.err == "" && (err != nil || reflect.TypeOf(r) != reflect.TypeOf(c.want)) {
				t.Errorf("server %s became %T, %v", c.key, r, err)
			}
		})
	}
}
