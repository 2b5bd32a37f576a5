package host

import (
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/internal/hosttest"
	"github.com/psbench/psbench/sdk/proto"
)

// unit is a table of one element.
type unit struct{ sdk.TableServer }

func (unit) Table() comm.TableSpec { return comm.TableSpec{Rows: 1, Width: 1} }

func TestRegistryAndPluginAgreeOnTables(t *testing.T) {
	parts := []sdk.Part{
		sdk.NewServer("plain", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) { return nil, nil }),
		sdk.NewTableServer("table", struct{}{}, func(struct{}, sdk.TableEnv) (sdk.TableServer, error) {
			return unit{}, nil
		}),
	}
	for _, c := range []struct {
		key    string
		tables bool
		want   string
	}{
		{"plain", false, ""},
		{"table", true, ""},
		{"plain", true, "server plain of this plugin does not serve tables, as the registry says it does"},
		{"table", false, "server table of this plugin serves tables, as the registry does not say"},
		{"other", true, `this plugin has no server "other"`},
	} {
		st := hosttest.Process(t, hosttest.Folder(t), parts, &proto.ConfigureRequest{Name: "server1", Part: &proto.PartChoice{Kind: "server", Key: c.key}, Tables: c.tables})
		if _, err := newRole(st); err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s, tables %v: %v, want %q", c.key, c.tables, err, c.want)
		}
	}
}
