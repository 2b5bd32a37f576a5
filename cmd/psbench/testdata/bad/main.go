// Command bad is a plugin that does harm. An argument says what it does before its handshake;
// what each of its parts does says the key.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/sdk/plugin"
	"github.com/psbench/psbench/sdk/proto"
)

func main() {
	if len(os.Args) > 1 {
		begin(os.Args[1])
	}
	plugin.Serve(parts()...)
}

// begin does harm before the handshake. A number is the version of the contract that the plugin
// speaks then.
func begin(how string) {
	switch how {
	case "prints":
		fmt.Println("loading the library")
	case "hangs":
		fmt.Fprintln(os.Stderr, "loading the library")
		time.Sleep(time.Hour)
	case "grows":
		grow()
	case "replaces":
		replace()
	case "mute":
		serveNothing()
	default:
		number, err := strconv.ParseUint(how, 10, 32)
		if err != nil {
			panic(err)
		}
		host.Handshake.ProtocolVersion = uint(number)
	}
}

// grow allocates without end.
func grow() {
	fmt.Fprintln(os.Stderr, "loading the library")
	var all [][]byte
	for {
		all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		if len(all) == 16<<10 {
			panic("nothing stops it")
		}
	}
}

// replace puts another program in the place of this one, as a build does.
func replace() {
	path, err := os.Executable()
	if err == nil {
		err = os.WriteFile(path+".new", []byte("#!/bin/sh\necho I am another one\n"), 0o700)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		panic(err)
	}
}

// leave starts processes that hold the plugin's pipes, in its group and in a session of their own.
func leave() error {
	for _, session := range []bool{false, true} {
		child := exec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
		if err := child.Start(); err != nil {
			return err
		}
	}
	return nil
}

// serveNothing shakes hands and then answers no call.
func serveNothing() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: host.Handshake,
		Plugins:         goplugin.PluginSet{host.Dispensed: mute{}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.UnaryInterceptor(never))...)
		},
	})
}

type mute struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (mute) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	proto.RegisterPartServer(s, proto.UnimplementedPartServer{})
	return nil
}

func (mute) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func never(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) { select {} }
