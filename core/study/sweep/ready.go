package sweep

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/quote"
)

// readyFolder is the folder of the specifications that are part of psbench.
const readyFolder = "configs/sweeps"

// Ready returns the sorted names of the specifications that are part of psbench.
func Ready() []string {
	files, _ := fs.Glob(psbench.Files, readyFolder+"/*.json") // Glob fails only for a bad pattern
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".json")
	}
	return files
}

// OpenSpec reads psbench's own specification with this name. If there is none, it reads the file with this name.
func OpenSpec(name string) (*Spec, error) {
	if slices.Contains(Ready(), name) {
		file := readyFolder + "/" + name + ".json"
		data, err := psbench.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return ParseSpec(file, data)
	}
	data, err := jsonfile.Read(name)
	if err != nil {
		if !strings.ContainsAny(name, "./") {
			err = fmt.Errorf("%w, and psbench has no sweep of its own that is called so%s", err, nearest(name, Ready()))
		}
		return nil, err
	}
	return ParseSpec(quote.Word(name), data)
}
