//go:build nodlopen || !linux || !(amd64 || arm64)

package devices

import "errors"

func ask(int) (*List, error) {
	return nil,
		errors.New("this psbench was built without a loader for shared libraries (nodlopen), so it cannot ask the CUDA driver: build it without that tag")
}
