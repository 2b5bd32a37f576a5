// Package generated holds the built-in generated samples.
package generated

import _ "embed" // embeds the samples

//go:generate go run ./generate

// Clicks is a click log in the Criteo format, with tabs, compressed by zstd.
//
//go:embed clicks.tsv.zst
var Clicks []byte

// DigitImages and DigitLabels are idx files, compressed by gzip.
var (
	//go:embed digits-images-idx3-ubyte.gz
	DigitImages []byte
	//go:embed digits-labels-idx1-ubyte.gz
	DigitLabels []byte
)

// Names of the samples in messages.
const (
	ClicksName      = "clicks.tsv.zst (built in)"
	DigitImagesName = "digits-images-idx3-ubyte.gz (built in)"
	DigitLabelsName = "digits-labels-idx1-ubyte.gz (built in)"
)
