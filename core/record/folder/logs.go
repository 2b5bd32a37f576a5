package folder

import (
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Log is the end of what a process of a run wrote.
type Log struct {
	Process string
	Tail    string
	Cut     bool // there is more before it
}

// mostLogs bounds the processes whose logs are read.
const mostLogs = 256

// Logs are the last bytes, most of each at most, of what the processes of a run folder wrote, of those that
// wrote anything. What is no file within the folder, or cannot be read, is none of them.
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
		if !e.Type().IsRegular() { // a pipe would be waited for
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
