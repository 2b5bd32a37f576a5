package data

// Streams of the generators, far above the numbers that models give to their
// parameters.
const (
	valueStream = 1<<32 + iota // of dummy, as the next two
	indexStream
	targetStream
	bagSizeStream // of bags, as the next two
	bagIndexStream
	bagTargetStream
	featureStream      // of dense
	clickFeatureStream // of clicks, as the next two
	clickIndexStream
	clickTargetStream
	denseTargetStream
)

// maxNumbers bounds what is generated: 16 GiB of indices, 8 GiB of features.
const maxNumbers = 1 << 31
