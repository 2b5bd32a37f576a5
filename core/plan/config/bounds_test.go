package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// One number sets the size of the tables in hybrid training and of the data that refers to their rows, unless both
// numbers are given.
func TestOneNumberSizesBoth(t *testing.T) {
	inFolder(t, map[string]string{
		"sized.json":  `{"Sized": {"data_class": "bags", "configurations": {"num_embeddings": 70}}}`,
		"server.json": `{"embedding": {"num_embeddings": 90}}`,
	})
	const (
		asServer = "derived: as server.num_embeddings"
		asData   = "derived: as data.num_embeddings"
	)
	for flags, want := range map[string][]string{
		"--trainer hybrid": {"300 default", "300 default"},
		"--trainer hybrid --set server.num_embeddings=1000": {"1000 flag --set",
			"1000 " + asServer + " (flag --set)"},
		"--trainer hybrid --set data.num_embeddings=1000": {"1000 " + asData + " (flag --set)", "1000 flag --set"},
		"--trainer hybrid --set server.num_embeddings=1000 --set data.num_embeddings=300": {"1000 flag --set",
			"300 flag --set"},
		"--trainer hybrid --set server.num_embeddings=5 --set data.num_embeddings=5": {"5 flag --set",
			"5 flag --set"},
		"--trainer hybrid --data-config-path sized.json --data Sized": {"70 " + asData + " (sized.json, Sized)",
			"70 sized.json, Sized"},
		"--trainer hybrid --server-config-path server.json": {"90 server.json, embedding",
			"90 " + asServer + " (server.json, embedding)"},
		"--trainer hybrid --data inline --set server.num_embeddings=7": {"7 flag --set"},
		"--data bags --set data.num_embeddings=1000": {"1000 flag --set",
			"1024 configs/models.json, DummyModel"},
	} {
		t.Run(fmt.Sprintf("%.60s", flags), func(t *testing.T) {
			var got []string
			for _, v := range mustResolve(t, nil, strings.Fields(flags)).Values {
				if strings.HasSuffix(v.Key, ".num_embeddings") {
					got = append(got, fmt.Sprintf("%v %s", v.Value, v.Origin))
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", flags, d)
			}
		})
	}
	const flags = "--trainer hybrid --set server.num_embeddings=100 --data-config-path sized.json --data Sized --set data.num_embeddings=101"
	const refused = "data.num_embeddings is 101 (flag --set) but must be at most server.num_embeddings, which is 100 (flag --set)"
	if _, err := resolve(t, nil, strings.Fields(flags)); err == nil || err.Error() != refused {
		t.Errorf("%v, want %s", err, refused)
	}
	exp := mustResolve(t, nil, strings.Fields("--trainer hybrid --set server.num_embeddings=1000"))
	if got := string(exp.Parts["data"].Settings); !strings.Contains(got, `"num_embeddings":1000`) {
		t.Errorf("the data gets the settings %s", got)
	}
}
