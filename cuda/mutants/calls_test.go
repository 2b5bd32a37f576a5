//go:build nvidia

package mutants

// call is a call of the driver through package cu. Without it, a test of cuda/driver must fail.
func call(name, file, old, without string) mutant {
	return mutant{name + " is called", "cuda/driver/" + file, old, without, "driver", ""}
}

// ofCU are the calls through package cu. ofShim has the calls of functions that cu lacks.
var ofCU = []mutant{
	call("cuDeviceGetCount", "context.go", "count, err := cu.NumDevices()", "count, err := 16, error(nil)"),
	call("cuDeviceGet", "context.go", "if c.device, err = cu.GetDevice(ordinal); err != nil {", "if err != nil {"),
	call("cuDeviceGetName", "context.go", "if info.Name, err = c.device.Name(); err != nil {", "if err != nil {"),
	call("cuDeviceGetUuid", "context.go", "uuid, err := c.device.UUID()", "uuid, err := cu.Device(0).UUID()"),
	call("cuDeviceTotalMem", "context.go", "if info.MemoryBytes, err = c.device.TotalMem(); err != nil {",
		"if err != nil {"),
	call("cuDeviceGetAttribute of the major capability", "context.go",
		"if info.ComputeCapability.Major, err = c.device.Attribute(cu.ComputeCapabilityMajor); err != nil {",
		"if err != nil {"),
	call("cuDeviceGetAttribute of the minor capability", "context.go",
		"if info.ComputeCapability.Minor, err = c.device.Attribute(cu.ComputeCapabilityMinor); err != nil {",
		"if err != nil {"),
	call("cuDeviceGetAttribute of the compute mode", "context.go", "mode, _ := c.device.Attribute(cu.ComputeMode)",
		"mode := 0"),
	call("cuDriverGetVersion", "context.go", "version := cu.Version()", "version := 0"),
	call("cuDevicePrimaryCtxRetain", "context.go", "if c.cu, err = c.device.RetainPrimaryCtx(); err != nil {",
		"if err != nil {"),
	call("cuDevicePrimaryCtxRelease", "context.go", "if err := c.device.ReleasePrimaryCtx(); err",
		"if err := error(nil); err"),
	call("cuCtxSynchronize", "context.go", `return c.do("cuCtxSynchronize", cu.Synchronize)`, "return nil"),
	call("cuMemAlloc", "memory.go", "memory, err = cu.MemAlloc(int64(bytes))", "memory = 4096"),
	call("cuMemFree", "memory.go",
		`err := c.giveBack("cuMemFree", func() error { return cu.MemFree(cu.DevicePtr(memory)) })`,
		"err := error(nil)"),
	call("cuMemGetInfo", "memory.go", "freeBytes, totalBytes, err = cu.MemInfo()", ""),
	call("cuMemGetAddressRange", "memory.go", "size, _, err := cu.DevicePtr(memory).AddressRange()",
		"size, err := int64(0), error(nil)"),
	call("cuModuleLoadDataEx", "module.go",
		"m.cu, err = cu.LoadDataEx(string(ptx), &cu.JITErrorLogBuffer{Buffer: said})", ""),
	call("cuModuleGetFunction", "module.go", "found, err := m.cu.Function(name)",
		"found, err := cu.Function{}, error(nil)"),
	call("cuModuleUnload", "module.go", `err := m.context.giveBack("cuModuleUnload", m.cu.Unload)`,
		"err := error(nil)"),
	call("cuStreamCreate", "stream.go", "s.cu, err = cu.MakeStream(cu.NonBlocking)", ""),
	call("cuStreamDestroy", "stream.go", `err := s.context.giveBack("cuStreamDestroy", s.cu.Destroy)`,
		"err := error(nil)"),
	call("cuEventCreate", "event.go", "e.cu, err = cu.MakeEvent(flags)", ""),
	call("cuEventDestroy", "event.go",
		`err := e.context.giveBack("cuEventDestroy", func() error { return cu.DestroyEvent(&e.cu) })`,
		"err := error(nil)"),
	call("cuGraphExecDestroy", "graph.go", `executable = g.context.giveBack("cuGraphExecDestroy", g.exec.Destroy)`, ""),
	call("cuGraphDestroy", "graph.go", `g.context.giveBack("cuGraphDestroy", g.cu.Destroy)`, "nil"),
}
