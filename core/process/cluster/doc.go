// Package cluster runs the processes of every measurement. The package starts, configures, connects, calls, watches and
// ends them. The callers, core/measure/run and core/measure/micro, decide which processes there are and what they
// measure.
//
// Two processes may run on different hosts, with different clocks and file systems. The Site of a process says where it
// runs.
package cluster
