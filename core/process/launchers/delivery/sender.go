// Package delivery sends the output and the files of a command from its node to the node that submitted it, over
// the standard output of a job. So no shared file system is needed.
//
// Each line is a JSON frame with bytes in base64: launchers pass lines on at once, and output of the job's prolog
// before the first frame can be recognised. An empty frame follows after each silent second, so the other side
// knows that the node is alive. The last frame has the exit status, after all files.
package delivery

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"
)

// Start says where a command runs.
type Start struct {
	Job   string `json:"job"`
	Nodes string `json:"nodes"`
}

// frame is a line. At most one of its values is set.
type frame struct {
	Start  *Start `json:"start,omitempty"`
	Stdout []byte `json:"stdout,omitempty"`
	// File is the path of a file, and Data its next piece, starting with the first. The path is within a folder
	// whose name both sides know. A path that ends in a slash is a folder.
	File   string `json:"file,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Status *int   `json:"status,omitempty"`
}

// pieceBytes limits the bytes in a frame, and lineBytes its line.
const (
	pieceBytes = 48 << 10
	lineBytes  = 128 << 10
)

// Beat is the longest time between frames.
const Beat = time.Second

// Sender is the side of the command. Its methods may be called in parallel.
type Sender struct {
	mu         sync.Mutex
	lines      *json.Encoder
	stop, over chan struct{}
}

// NewSender sends to w until End.
func NewSender(w io.Writer, about Start) (*Sender, error) {
	s := &Sender{lines: json.NewEncoder(w), stop: make(chan struct{}), over: make(chan struct{})}
	if err := s.send(frame{Start: &about}); err != nil {
		return nil, err
	}
	go s.beat()
	return s, nil
}

func (s *Sender) beat() {
	defer close(s.over)
	tick := time.NewTicker(Beat)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			_ = s.send(frame{}) // the next Write returns the error
		}
	}
}

func (s *Sender) send(f frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.Encode(f)
}

// Write sends output of the command.
func (s *Sender) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		piece := p[n:min(len(p), n+pieceBytes)]
		if err = s.send(frame{Stdout: piece}); err == nil {
			n += len(piece)
		}
	}
	return n, err
}

// Folder sends all files and folders in dir; paths are relative to it.
func (s *Sender) Folder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			return s.send(frame{File: name + "/"})
		case !e.Type().IsRegular():
			return nil
		}
		return s.file(root, name)
	})
}

func (s *Sender) file(root *os.Root, name string) error {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := s.send(frame{File: path.Clean(name)}); err != nil {
		return err
	}
	piece := make([]byte, pieceBytes)
	for {
		n, err := f.Read(piece)
		if n > 0 {
			if err := s.send(frame{File: name, Data: piece[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// End sends the exit status of the command and stops sending.
func (s *Sender) End(status int) error {
	close(s.stop)
	<-s.over
	return s.send(frame{Status: &status})
}
