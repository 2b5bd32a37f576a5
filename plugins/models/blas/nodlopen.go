//go:build nodlopen || !linux || !(amd64 || arm64)

package blas

import "fmt"

func load(engine string, _ int) (BLAS, error) {
	return nil,
		fmt.Errorf("blas engine %s cannot be loaded: this binary was built without a loader for shared libraries; set blas to native or auto",
			engine)
}
