// Package delivery brings what a command prints, and the files that it leaves, from the node where it runs to the
// one that has submitted it, over the standard output of a job. So no file system needs to be shared.
//
// Each line is a frame in JSON, with bytes in base64: launchers pass lines on as they come, and what a prolog
// of the job prints before the first frame is told apart. A second without a frame has an empty one, by which
// the other side knows that the node is there. The last one has the exit status, after all files.
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

// frame is a line. It has one of these, or nothing.
type frame struct {
	Start  *Start `json:"start,omitempty"`
	Stdout []byte `json:"stdout,omitempty"`
	// File is the path of a file of which Data is the next piece, from the first one on, in a folder of names
	// that both sides know. One that ends in a slash is a folder.
	File   string `json:"file,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Status *int   `json:"status,omitempty"`
}

// pieceBytes bounds what a frame carries, and lineBytes its line.
const (
	pieceBytes = 48 << 10
	lineBytes  = 128 << 10
)

// Beat is how often there is a frame at least.
const Beat = time.Second

// Sender is the side of the command. Its methods may be called at once.
type Sender struct {
	mu         sync.Mutex
	lines      *json.Encoder
	stop, over chan struct{}
}

// NewSender begins to send to w, until End.
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
			_ = s.send(frame{}) // who sends more hears of an error
		}
	}
}

func (s *Sender) send(f frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.Encode(f)
}

// Write sends what the command prints.
func (s *Sender) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		piece := p[n:min(len(p), n+pieceBytes)]
		if err = s.send(frame{Stdout: piece}); err == nil {
			n += len(piece)
		}
	}
	return n, err
}

// Folder sends all files and folders in dir; paths begin within it.
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

// End sends the exit status of the command, and ends the sending.
func (s *Sender) End(status int) error {
	close(s.stop)
	<-s.over
	return s.send(frame{Status: &status})
}
