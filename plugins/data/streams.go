package data

// Numbers of the generators' streams. These numbers are far above the stream numbers of model parameters.
const (
	valueStream = 1<<32 + iota // first of three streams of the dummy data
	indexStream
	targetStream
	bagSizeStream // first of three streams of the bags data
	bagIndexStream
	bagTargetStream
	featureStream      // of dense
	clickFeatureStream // first of three streams of the clicks data
	clickIndexStream
	clickTargetStream
	denseTargetStream
)

// maxNumbers limits the generated values: 16 GiB of indices or 8 GiB of features.
const maxNumbers = 1 << 31
