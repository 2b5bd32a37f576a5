package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// defaultHook returns the hook for a run that does not name one, and the reason for the choice.
func (r *resolver) defaultHook() (name, origin string) {
	switch {
	case r.servers() == 0:
		return "allreduce", derived + "there are no servers"
	case r.exp.Service == sdk.ServiceTables:
		return "allreduce", derived + "the servers serve tables"
	default:
		return "rpc", derived + "there are servers"
	}
}

// checkHybrid returns an error if options of the hybrid benchmark are used with another trainer.
func (r *resolver) checkHybrid(context.Context) error {
	for _, o := range option.All() {
		if o.Group != option.HybridGroup || !r.given(o.Key) || r.exp.Service == sdk.ServiceTables {
			continue
		}
		instead := ""
		if o.Stands != "" && !strings.Contains(o.Stands, ".") {
			instead = ", or --" + o.Stands
		}
		return fmt.Errorf("%s is an option of the hybrid benchmark, but trainer %s is chosen: give --trainer hybrid%s",
			r.name(o.Key), r.Trainer, instead)
	}
	return nil
}

// checkService checks that the servers provide the service that the trainer needs.
func (r *resolver) checkService(ctx context.Context) error {
	trainer := r.chosen[sdk.KindTrainer]
	if r.servers() == 0 {
		if trainer.needs == sdk.ServiceGradients {
			return nil
		}
		return fmt.Errorf("%s is 0 but trainer %s needs %s of a server: give --nserver 1 or more", r.name("nserver"),
			trainer.Key, trainer.needs)
	}
	server := r.chosen[sdk.KindServer]
	if server.serves != trainer.needs {
		return fmt.Errorf("%s is %s, which serves %s, but trainer %s needs %s, %s",
			r.name("server"), server.Key, server.serves, trainer.Key, trainer.needs, r.whoServes(ctx, trainer.needs))
	}
	if model := r.chosen[sdk.KindModel]; server.serves == sdk.ServiceParameters &&
		!server.Plugin.Has(model.Plugin.Name) {
		return fmt.Errorf("server %s is of plugin %s but model %s is of plugin %s: a server of parameters holds the model, so they must be of the same plugin",
			server.Key, server.Plugin.Name, model.Key, model.Plugin.Name)
	}
	return nil
}

// whoServes lists the servers that provide a service, as a text to put after the name of the service.
func (r *resolver) whoServes(ctx context.Context, service sdk.Service) string {
	var keys []string
	for _, item := range r.registry.Items(sdk.KindServer) {
		if r.serves(ctx, item) == service {
			keys = append(keys, item.Key)
		}
	}
	if keys == nil {
		return "which no server serves"
	}
	return "as " + strings.Join(keys, " or ") + " serves"
}

// checkHook checks that the hook's links fit the service of the servers.
func (r *resolver) checkHook(context.Context) error {
	hook, trainer, server := r.chosen[sdk.KindHook], r.chosen[sdk.KindTrainer], r.chosen[sdk.KindServer]
	r.exp.Links = hook.links
	r.nameGroup()
	switch {
	case hook.links.Server && r.servers() == 0:
		return fmt.Errorf(
			"%s is %s, which needs a server, but %s is 0: give --nserver 1 or more, or --ddp-hook allreduce",
			r.name("ddp_hook"), hook.Key, r.name("nserver"))
	case r.exp.Service == sdk.ServiceTables && hook.links.Server:
		return fmt.Errorf("%s is %s, which sends gradients to the server, but server %s serves tables and takes none: give --ddp-hook allreduce",
			r.name("ddp_hook"), hook.Key, server.Key)
	case r.exp.Service == sdk.ServiceParameters && hook.links != registry.Links{Server: true}:
		return fmt.Errorf("%s is %s, but trainer %s needs a hook that sends every bucket to the server, for its parameters: give --ddp-hook rpc",
			r.name("ddp_hook"), hook.Key, trainer.Key)
	case r.exp.Service == sdk.ServiceGradients && !hook.links.Server && r.servers() > 0:
		r.warn("hook %s never uses the servers: give --nserver 0 to run without", hook.Key)
	}
	return nil
}
