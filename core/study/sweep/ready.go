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

// readyFolder has the specifications that psbench brings along.
const readyFolder = "configs/sweeps"

// Ready are the names of the specifications that psbench brings along, in order.
func Ready() []string {
	files, _ := fs.Glob(psbench.Files, readyFolder+"/*.json") // its one error is a bad pattern
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".json")
	}
	return files
}

// OpenSpec reads the specification of a name that psbench brings along, or else the file.
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
