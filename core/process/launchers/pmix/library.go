//go:build !nodlopen && linux && (amd64 || arm64)

package pmix

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// libraryName is the file name of the PMIx library. All versions since 2 use it.
const libraryName = "libpmix.so.2"

// These constants are from pmix_common.h. The values of these constants never change.
const (
	success      = 0
	typeBool     = 1
	typeString   = 3
	scopeGlobal  = 3
	rankWildcard = 1<<32 - 2 // stands for all ranks
)

// process has the layout of pmix_proc_t.
type process struct {
	namespace [256]byte
	rank      uint32
}

// value has the layout of pmix_value_t that contains a text. If text is nil, the value is true.
type value struct {
	kind uint16
	_    [6]byte
	text *byte
	_    [16]byte
}

// truth has the layout of pmix_value_t that contains a bool.
type truth struct {
	kind uint16
	_    [6]byte
	set  bool
	_    [23]byte
}

// info has the layout of pmix_info_t that contains a bool.
type info struct {
	key   [512]byte
	_     [8]byte // flags of pmix_info_t
	value truth
}

// library holds functions of libpmix. Each function returns a pmix_status_t.
type library struct {
	self     process
	init     func(self *process, infos *info, count uintptr) int32
	put      func(scope uint8, key *byte, v *value) int32
	commit   func() int32
	fence    func(processes *process, count uintptr, infos *info, infosCount uintptr) int32
	get      func(of *process, key *byte, infos *info, count uintptr, v **value) int32
	finalize func(infos *info, count uintptr) int32
}

// open loads the library and connects to the launcher.
func open() (store, error) {
	runtime.LockOSThread() // dlerror reports the failures of its own thread
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(libraryName, purego.RTLD_NOW|purego.RTLD_GLOBAL) // its components need it
	if err != nil {
		return nil, fmt.Errorf("%s cannot be loaded: %s", libraryName,
			strings.TrimPrefix(err.Error(), libraryName+": "))
	}
	l := &library{}
	for name, at := range map[string]any{
		"PMIx_Init": &l.init, "PMIx_Put": &l.put, "PMIx_Commit": &l.commit, "PMIx_Fence": &l.fence, "PMIx_Get": &l.get,
		"PMIx_Finalize": &l.finalize,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%s has no %s", libraryName, name)
		}
		purego.RegisterFunc(at, symbol)
	}
	return l, failed("PMIx_Init", l.init(&l.self, nil, 0))
}

// Put implements store.
func (l *library) Put(key, text string) error {
	name, err := unix.BytePtrFromString(key)
	if err != nil {
		return err
	}
	v := &value{kind: typeString}
	if v.text, err = unix.BytePtrFromString(text); err != nil {
		return err
	}
	defer runtime.KeepAlive(v)
	return failed("PMIx_Put", l.put(scopeGlobal, name, v))
}

// Fence implements store.
func (l *library) Fence() error {
	if err := failed("PMIx_Commit", l.commit()); err != nil {
		return err
	}
	collect := &info{value: truth{kind: typeBool, set: true}}
	copy(collect.key[:], "pmix.collect")
	all := &process{namespace: l.self.namespace, rank: rankWildcard}
	return failed("PMIx_Fence", l.fence(all, 1, collect, 1))
}

// Get implements store. PMIx stores values by rank, and not all versions find the rank on their own. As in package
// rollcall, a key that ends in a dash and a number belongs to the rank with that number. All other keys belong to rank
// 0.
func (l *library) Get(key string) (string, error) {
	name, err := unix.BytePtrFromString(key)
	if err != nil {
		return "", err
	}
	of := &process{namespace: l.self.namespace}
	if rank, err := strconv.ParseUint(key[strings.LastIndexByte(key, '-')+1:], 10, 32); err == nil {
		of.rank = uint32(rank)
	}
	var v *value
	if err := failed("PMIx_Get", l.get(of, name, nil, 0, &v)); err != nil {
		return "", err
	}
	if v == nil || v.kind != typeString || v.text == nil {
		return "", fmt.Errorf("PMIx_Get gives no text for %s", key)
	}
	return unix.BytePtrToString(v.text), nil // the text is not freed, because the process ends soon
}

// Close implements store.
func (l *library) Close() error { return failed("PMIx_Finalize", l.finalize(nil, 0)) }

func failed(call string, code int32) error {
	if code == success {
		return nil
	}
	return fmt.Errorf("%s fails with status %d", call, code)
}
