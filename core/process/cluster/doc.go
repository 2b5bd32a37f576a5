// Package cluster runs the processes of every measurement: it starts them where they belong, configures, connects,
// calls, watches and ends them. What the processes are and measure is up to its callers, core/measure/run and
// core/measure/micro.
//
// Two processes may run on different hosts, with different clocks and file systems. Their Site tells.
package cluster
