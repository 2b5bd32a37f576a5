package data

// Numbers of the generators' streams. These numbers are far above the stream numbers of model parameters.
const (
	valueStream = 1<<32 + iota // of dummy, like the next two
	indexStream
	targetStream
	bagSizeStream // of bags, like the next two
	bagIndexStream
	bagTargetStream
	featureStream      // of dense
	clickFeatureStream // of clicks, like the next two
	clickIndexStream
	clickTargetStream
	denseTargetStream
)

// maxNumbers limits the generated values: 16 GiB of indices or 8 GiB of features.
const maxNumbers = 1 << 31
