//go:build !nodlopen && linux && (amd64 || arm64)

package devices

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// library is the file name of the driver's library. library is the same on every system.
const library = "libcuda.so.1"

// These constants are from cuda.h. The values of these constants never change.
const (
	success           = 0
	errorNoDevice     = 100
	attributeMode     = 20
	attributeMajor    = 75
	attributeMinor    = 76
	attributeMPS      = 133 // exists since CUDA 12.3
	modeProhibited    = 2
	modeExclusive     = 3
	modeExclusiveOnce = 1 // one thread; drivers treat it as one process
)

// driver holds functions of the driver. Each function returns a CUresult.
type driver struct {
	init          func(flags uint32) int32
	version       func(version *int32) int32
	count         func(count *int32) int32
	device        func(device *int32, ordinal int32) int32
	name          func(text *byte, length, device int32) int32
	memory        func(bytes *uint64, device int32) int32
	attribute     func(value *int32, attribute, device int32) int32
	uuid          func(uuid *[16]byte, device int32) int32
	canAccessPeer func(can *int32, device, peer int32) int32
	retain        func(context *uintptr, device int32) int32
	setCurrent    func(context uintptr) int32
	memoryInfo    func(free, total *uint64) int32
	release       func(device int32) int32
}

// ask returns the driver's report. ask includes the free memory of the devices that this many ranks use. The driver may
// crash or hang during the call.
func ask(ranks int) (*List, error) {
	runtime.LockOSThread() // dlerror reports the failures of its own thread
	defer runtime.UnlockOSThread()
	d, err := open()
	if err != nil {
		return nil, err
	}
	var version, count int32
	if code := d.version(&version); code != success {
		return nil, failed("cuDriverGetVersion", code)
	}
	if version < LeastDriver { // an older driver may lack the functions below
		return nil, (&List{Driver: int(version)}).Check(0)
	}
	switch code := d.init(0); code {
	case success:
	case errorNoDevice:
		return nil, noDevice()
	default:
		return nil, failed("cuInit", code)
	}
	if code := d.count(&count); code != success {
		return nil, failed("cuDeviceGetCount", code)
	}
	if count == 0 {
		return nil, noDevice()
	}
	l := &List{Driver: int(version), MPS: lookForMPS(), Visible: visible()}
	for ordinal := range count {
		one, err := d.describe(ordinal, count, int(ordinal) < ranks)
		if err != nil {
			return nil, err
		}
		l.Devices = append(l.Devices, one)
	}
	if used, ok := d.value(attributeMPS, 0); ok {
		l.MPS = MPS{Used: used != 0, Known: "the driver says so"}
	}
	return l, nil
}

// noDevice returns the error for a driver that reports no device.
func noDevice() error {
	if v := visible(); v != nil {
		return fmt.Errorf("the driver shows no device: %s is %q and hides all devices that it does not name",
			visibleVariable, *v)
	}
	return errors.New(
		"the driver finds no device: nvidia-smi says what it sees, and a container needs the devices given to it")
}

func open() (*driver, error) {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), library+": ")
		return nil,
			fmt.Errorf("there is no CUDA driver: %s cannot be loaded (%s): install NVIDIA's driver, or name its folder in LD_LIBRARY_PATH",
				library, reason)
	}
	d := &driver{}
	for _, f := range []struct {
		name string
		at   any
	}{
		{"cuInit", &d.init}, {"cuDriverGetVersion", &d.version}, {"cuDeviceGetCount", &d.count},
		{"cuDeviceGet", &d.device},
		{"cuDeviceGetName", &d.name}, {"cuDeviceTotalMem_v2", &d.memory}, {"cuDeviceGetAttribute", &d.attribute},
		{"cuDeviceGetUuid", &d.uuid}, {"cuDeviceCanAccessPeer", &d.canAccessPeer},
		{"cuDevicePrimaryCtxRetain", &d.retain}, {"cuCtxSetCurrent", &d.setCurrent}, {"cuMemGetInfo_v2", &d.memoryInfo},
		{"cuDevicePrimaryCtxRelease", &d.release},
	} {
		symbol, err := purego.Dlsym(handle, f.name)
		if err != nil {
			return nil, fmt.Errorf(
				"%s has no %s, so it is not a CUDA driver, or it is older than CUDA 9.2: psbench needs CUDA %s or newer",
				library, f.name, Version(LeastDriver))
		}
		purego.RegisterFunc(f.at, symbol)
	}
	// Drivers older than CUDA 11.0 have only the function name without _v2. psbench asks them only for their version.
	if symbol, err := purego.Dlsym(handle, "cuDevicePrimaryCtxRelease_v2"); err == nil {
		purego.RegisterFunc(&d.release, symbol)
	}
	return d, nil
}

// errorTexts explains those errors of cuInit that a user can fix.
var errorTexts = map[int32]string{
	34: "CUDA_ERROR_STUB_LIBRARY, 34: " + library +
		" is a stub for linking only: put the real driver's folder before it in LD_LIBRARY_PATH",
	46:  "CUDA_ERROR_DEVICE_UNAVAILABLE, 46: another process uses the device exclusively",
	802: "CUDA_ERROR_SYSTEM_NOT_READY, 802: a service that the devices need, such as nvidia-fabricmanager, is not running",
	803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803: " + library +
		" and the kernel's module are of different versions: restart the machine, or give a container the library of its host",
	804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804: the kernel's module is too old for " + library +
		": update the driver",
	805: "CUDA_ERROR_MPS_CONNECTION_FAILED, 805: MPS does not answer: restart its control daemon, or unset " +
		pipeVariable,
	807: "CUDA_ERROR_MPS_SERVER_NOT_READY, 807: MPS is not ready yet: try again",
}

// failed returns the error of a call.
func failed(call string, code int32) error {
	text := errorTexts[code]
	if text == "" {
		text = fmt.Sprintf("error %d: nvidia-smi says what the driver sees", code)
	}
	return fmt.Errorf("the CUDA driver does not work: %s gives %s", call, text)
}

// value returns an attribute of a device. ok is false if the driver does not know the attribute.
func (d *driver) value(attribute, device int32) (value int32, ok bool) {
	code := d.attribute(&value, attribute, device)
	return value, code == success
}

// describe returns the facts about a device. used means that a rank uses the device; then its free memory is included.
// Facts that no run needs stay empty if the driver does not report them.
func (d *driver) describe(ordinal, count int32, used bool) (Device, error) {
	one := Device{Ordinal: int(ordinal), Mode: Shared, Peers: []int{}}
	var device int32
	if code := d.device(&device, ordinal); code != success {
		return one, failed(fmt.Sprintf("cuDeviceGet of device %d", ordinal), code)
	}
	name := make([]byte, 256)
	var bytes uint64
	if code := d.name(&name[0], int32(len(name)), device); code != success { // #nosec G115 -- a constant
		return one, failed("cuDeviceGetName of "+one.ID(), code)
	}
	if code := d.memory(&bytes, device); code != success {
		return one, failed("cuDeviceTotalMem of "+one.ID(), code)
	}
	text, _, _ := strings.Cut(string(name), "\x00")
	one.Name, one.MemoryMiB = strings.TrimSpace(text), int64(bytes>>20) // #nosec G115 -- far from 2^63
	major, _ := d.value(attributeMajor, device)
	minor, _ := d.value(attributeMinor, device)
	one.Capability = fmt.Sprintf("%d.%d", major, minor)
	switch mode, _ := d.value(attributeMode, device); mode {
	case modeProhibited:
		one.Mode = Prohibited
	case modeExclusive, modeExclusiveOnce:
		one.Mode = Exclusive
	}
	var id [16]byte
	if d.uuid(&id, device) == success {
		one.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
	if used && one.Mode != Prohibited {
		one.FreeBytes = d.free(device)
	}
	for peer := range count {
		var can int32
		if peer != ordinal && d.canAccessPeer(&can, ordinal, peer) == success && can != 0 {
			one.Peers = append(one.Peers, int(peer))
		}
	}
	return one, nil
}

// free returns the free memory of a device in bytes. free returns 0 if the driver does not report the memory, for
// example for an exclusive device in use. During the call, free holds a context on the device.
func (d *driver) free(device int32) int64 {
	var context uintptr
	if d.retain(&context, device) != success {
		return 0
	}
	defer d.release(device)
	var free, total uint64
	if d.setCurrent(context) != success || d.memoryInfo(&free, &total) != success {
		return 0
	}
	d.setCurrent(0)
	return int64(free) // #nosec G115 -- far from 2^63
}
