package folder

import (
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Log is the last output of a process.
type Log struct {
	Process string
	Tail    string
	Cut     bool // Tail is not the whole output
}

// mostLogs limits the number of processes whose logs are read.
const mostLogs = 256

// Logs returns the last output of each process in a run folder that printed something. Each output is limited to the
// last most bytes. Logs skips everything in the folder that is not a regular file or cannot be read.
func Logs(dir string, most int64) []Log {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), logsName)
	if err != nil {
		return nil
	}
	var logs []Log
	for _, e := range entries[:min(mostLogs, len(entries))] {
		if !e.Type().IsRegular() { // reading a pipe would block
			continue
		}
		if text, cut, err := tail(root, path.Join(logsName, e.Name()), most); err == nil && text != "" {
			logs = append(logs, Log{strings.TrimSuffix(e.Name(), ".log"), text, cut})
		}
	}
	return logs
}

func tail(root *os.Root, name string, most int64) (text string, cut bool, err error) {
	f, err := root.Open(name)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	from := max(0, info.Size()-most)
	end, err := io.ReadAll(io.NewSectionReader(f, from, most))
	return string(end), from > 0, err
}
