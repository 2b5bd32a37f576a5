package models

import (
	"strconv"

	"github.com/psbench/psbench/plugins/models/blas"
)

// engineFacts describes the model's engine and the BLAS library.
func engineFacts(engine string, info blas.Info) map[string]string {
	facts := map[string]string{
		"engine":       engine,
		"blas":         info.Engine,
		"blas_core":    info.Core,
		"blas_threads": strconv.Itoa(info.Threads),
	}
	if info.Library != "" {
		facts["blas_library"] = info.Library
	}
	return facts
}
