package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/host/clocks"
)

// clocksOf returns the clock of each host except the core's, without duplicates, and the names of these hosts.
func (c *Cluster) clocksOf() (list []*clocks.Clock, hosts []string) {
	for _, m := range c.members {
		if s := m.Site(); s.Clock != nil && !slices.Contains(list, s.Clock) {
			list, hosts = append(list, s.Clock), append(hosts, s.Host)
		}
	}
	return list, hosts
}

// readClocks reads all hosts' clocks in parallel.
func (c *Cluster) readClocks(ctx context.Context) error {
	list, hosts := c.clocksOf()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	errs := make(chan error, len(list))
	for i, clock := range list {
		go func() {
			err := clock.Read(ctx)
			if err != nil {
				err = fmt.Errorf("the clock of %s cannot be read: %w", hosts[i], err)
			}
			errs <- err
		}()
	}
	var first error
	for range list {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// watchClocks starts to read the clocks of all hosts periodically, to estimate their drift.
func (c *Cluster) watchClocks(ctx context.Context) error {
	if err := c.readClocks(ctx); err != nil {
		return err
	}
	list, _ := c.clocksOf()
	c.unwatch = clocks.Watch(ctx, list)
	return nil
}

// settleClocks freezes the estimates of the clocks after the run's last timestamp. After a failure, hosts may be
// unreachable, so settleClocks keeps the last estimates, which are good enough.
func (c *Cluster) settleClocks(ctx context.Context, failed bool) error {
	if c.unwatch == nil {
		return nil
	}
	c.unwatch()
	var err error
	if !failed {
		err = c.readClocks(ctx)
	}
	list, _ := c.clocksOf()
	for _, clock := range list {
		clock.Settle()
	}
	return err
}
