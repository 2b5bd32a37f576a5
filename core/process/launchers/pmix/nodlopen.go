//go:build nodlopen || !linux || !(amd64 || arm64)

package pmix

import "errors"

func open() (store, error) {
	return nil, errors.New("this psbench was built without a loader for shared libraries (nodlopen)")
}
