package cluster

import "testing"

func TestSpeaks(t *testing.T) {
	for text, want := range map[string]bool{
		"data: the file is gone":                              true,
		"trainer0, epoch 0: data: the file is gone":           true,
		"trainer0 waited 2 s; data: the file is gone":         true,
		"server2: server mine: got bad data: not what I like": false,
		"server2: bad data: not this; data: the file is gone": true,
		"nobody": false,
	} {
		t.Run(text, func(t *testing.T) {
			if speaks("data", text) != want {
				t.Errorf("%q: %v, want %v", text, !want, want)
			}
		})
	}
}
