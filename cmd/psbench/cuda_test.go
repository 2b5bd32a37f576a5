package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
	"github.com/psbench/psbench/sdk/plugin"
)

// testDevices is the environment variable with what the process says that asks the CUDA driver.
const testDevices = "TEST_DEVICES"

// saidDevices says it where the test executable is that process.
func saidDevices() bool {
	said, ok := os.LookupEnv(testDevices)
	if !ok || len(os.Args) < 2 || os.Args[1] != devices.Argument {
		return false
	}
	fmt.Println(said)
	return true
}

// cudaArgument makes the test executable psbench-cuda, as that name does.
const cudaArgument = "__psbench-cuda"

// testCUDABuild is the environment variable with the build that it says it is of.
const testCUDABuild = "TEST_CUDA_BUILD"

// serveCUDA is psbench-cuda, whose devices have memory that Go cannot touch, and compute nevertheless.
func serveCUDA(arguments []string) {
	if len(arguments) > 0 && arguments[0] == "version" {
		build, ok := os.LookupEnv(testCUDABuild)
		if !ok {
			build = result.Build()
		}
		fmt.Println(cuda.Program, build)
		return
	}
	plugin.ServeOn(openTestDevice, enginetest.Parts(plugins.Parts())...)
}

// openTestDevice tells which device is the process's own.
func openTestDevice() (engine.Engine, error) {
	device, err := strconv.Atoi(os.Getenv(host.CUDADeviceVariable))
	if err != nil {
		return nil, errors.New("nobody says which device is this process's own")
	}
	fmt.Fprintln(os.Stderr, "computes on device", device)
	return enginetest.Full.Open()
}

// cudaRegistry is a registry file whose plugin cuda is the test executable.
func cudaRegistry() ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"plugins": map[string]any{cuda.PluginName: map[string]any{"command": []string{exe, cudaArgument}}},
	})
}
