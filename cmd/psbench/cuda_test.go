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

// testDevices is an environment variable with the output of the process that queries the CUDA driver.
const testDevices = "TEST_DEVICES"

// saidDevices prints that output if the test executable was started as this process.
func saidDevices() bool {
	said, ok := os.LookupEnv(testDevices)
	if !ok || len(os.Args) < 2 || os.Args[1] != devices.Argument {
		return false
	}
	fmt.Println(said)
	return true
}

// cudaArgument makes the test executable act as psbench-cuda.
const cudaArgument = "__psbench-cuda"

// testCUDABuild is an environment variable with the build that the fake psbench-cuda prints.
const testCUDABuild = "TEST_CUDA_BUILD"

// serveCUDA acts as psbench-cuda. Go cannot touch the memory of its devices, but they compute on the CPU.
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

// openTestDevice prints the index of the process's own device and opens it.
func openTestDevice() (engine.Engine, error) {
	device, err := strconv.Atoi(os.Getenv(host.CUDADeviceVariable))
	if err != nil {
		return nil, errors.New("nobody says which device is this process's own")
	}
	fmt.Fprintln(os.Stderr, "computes on device", device)
	return enginetest.Full.Open()
}

// cudaRegistry returns a registry file whose plugin cuda is the test executable.
func cudaRegistry() ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"plugins": map[string]any{cuda.PluginName: map[string]any{"command": []string{exe, cudaArgument}}},
	})
}
