// Package cluster is the life that the processes of every measurement have: they are
// started where they belong, configured, connected, called all at once, watched, and
// ended. What they are and what they measure is the business of its callers, core/measure/run
// and core/measure/micro.
//
// Two processes may run on different hosts, have different clocks and see different file
// systems. Where it matters, ask their Site.
package cluster
