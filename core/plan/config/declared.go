package config

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// declared holds what a part declares about itself. These declarations determine which links a run has.
type declared struct {
	serves sdk.Service    // service that a server provides
	needs  sdk.Service    // service that a trainer needs
	links  registry.Links // links that a hook uses
}

// partsOf returns the parts of a plugin. partsOf asks each plugin only once.
func (r *resolver) partsOf(ctx context.Context, p registry.Plugin) ([]sdk.Part, error) {
	if parts, ok := r.described[p.Name]; ok {
		return parts, nil
	}
	late := fmt.Errorf("it did not answer within %s, the limit of %s", r.exp.Timeout, r.name("rpc_timeout"))
	limited, cancel := context.WithTimeoutCause(ctx, r.exp.Timeout, late)
	defer cancel()
	parts, err := r.catalogue(limited, p)
	switch {
	case err == nil:
		r.described[p.Name] = parts
	case limited.Err() != nil && ctx.Err() == nil && !errors.Is(err, late):
		err = late
	}
	return parts, err
}

// declare returns what a server serves, a trainer needs or a hook uses. declare asks the plugin. If a registry file
// also says this, the file and the plugin must agree.
func (r *resolver) declare(ctx context.Context, item registry.Item) (said declared, err error) {
	switch item.Kind {
	case sdk.KindServer, sdk.KindTrainer, sdk.KindHook:
	default:
		return said, nil
	}
	d, err := r.describe(ctx, item)
	if err != nil {
		return said, err
	}
	if err := CheckDeclared(item, d); err != nil {
		return said, err
	}
	said.serves, said.needs = d.Serves, d.Needs
	said.links, err = registry.LinksOf(d.Links)
	return said, err
}

// CheckDeclared returns an error if a registry file contradicts a part's plugin, or if the plugin declares something
// impossible.
func CheckDeclared(item registry.Item, d sdk.Part) error {
	part := fmt.Sprintf("%s %s of plugin %s", item.Kind, item.Key, item.Plugin.Name)
	links, err := registry.LinksOf(d.Links)
	if err != nil {
		return fmt.Errorf("%s %w", part, err)
	}
	const remedy = "leave it out of the file, or rebuild the plugin"
	switch {
	case item.Kind == sdk.KindServer && item.Serves != "" && item.Serves != d.Serves:
		return fmt.Errorf("%s serves %s, but %s says %s: %s", part, d.Serves, item.File, item.Serves, remedy)
	case (d.Asynchronous || d.Quorum != "") &&
		(d.Kind != sdk.KindServer || d.Serves == sdk.ServiceTables || d.Timing != 0):
		return fmt.Errorf("%s is declared as asynchronous, but only a server of whole gradients can be: rebuild the plugin, with sdk.Asynchronous", part)
	case d.Adds && d.Timing == 0:
		return fmt.Errorf(
			"%s is declared to add, but only an elementwise server can: rebuild the plugin, with sdk.Adding", part)
	case d.Plans && (d.Kind != sdk.KindHook || len(d.Links) == 0):
		return fmt.Errorf("%s is declared to plan its traffic, but only a hook with links can: rebuild the plugin", part)
	case d.CheckAnswers() != nil:
		return fmt.Errorf("%s declares that it answers %w", part, d.CheckAnswers())
	case d.Protocol && d.Kind == sdk.KindServer && (d.Serves != sdk.ServiceGradients || d.Timing != 0):
		return fmt.Errorf("%s speaks the protocol of docs/protocol.md, whose servers take whole gradients: it must serve %s and have no timing",
			part, sdk.ServiceGradients)
	case d.Targets != "" && d.Kind != sdk.KindCriterion:
		return fmt.Errorf("%s is declared to take %s as targets, which only a criterion can: rebuild the plugin",
			part, quote.String(string(d.Targets)))
	case d.Targets != "" && !slices.Contains(sdk.TargetKinds, d.Targets):
		return fmt.Errorf(
			"%s is declared to take %s as targets, which must be one of %s: update psbench, or rebuild the plugin",
			part, quote.String(string(d.Targets)), sdk.TargetKinds)
	case d.Protocol && d.Kind == sdk.KindTrainer:
		return fmt.Errorf(
			"%s speaks the protocol of docs/protocol.md, which has no trainers: write them in Go", part)
	case item.Asynchronous != nil && d.Quorum != "":
		return fmt.Errorf(
			"%s is asynchronous depending on its setting %s, but %s says that it %s: leave it out of the file",
			part, d.Quorum, item.File, waits[*item.Asynchronous])
	case item.Asynchronous != nil && *item.Asynchronous != d.Asynchronous:
		return fmt.Errorf("%s %s, but %s says that it %s: %s", part, waits[d.Asynchronous], item.File,
			waits[*item.Asynchronous], remedy)
	case item.Kind == sdk.KindTrainer && item.Needs != "" && item.Needs != d.Needs:
		return fmt.Errorf("%s needs %s, but %s says %s: %s", part, d.Needs, item.File, item.Needs, remedy)
	case item.Links != nil && *item.Links != links:
		return fmt.Errorf("%s uses %s, but %s says %s: %s", part, links, item.File, item.Links, remedy)
	}
	return nil
}

// waits says in words whether a server is asynchronous.
var waits = map[bool]string{true: "is asynchronous", false: "is not asynchronous"}

// serves returns what a server serves if this is known without starting its plugin, or "" if it is not.
func (r *resolver) serves(ctx context.Context, item registry.Item) sdk.Service {
	if _, asked := r.described[item.Plugin.Name]; item.Plugin.Name != registry.Builtin && !asked {
		return item.Serves
	}
	d, err := r.describe(ctx, item)
	if err != nil {
		return item.Serves
	}
	return d.Serves
}
