// Package delivery sends the output and the files of a command from its node to the node that submitted it, over the
// standard output of a job. The delivery needs no shared file system.
//
// Each line is a JSON frame with bytes in base64. Launchers pass lines on at once, and the receiver can recognise
// output of the job's prolog before the first frame. After each second without other frames the sender sends an empty
// one, as a heartbeat. The last frame contains the exit status and follows all files.
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

// frame is one line. frame has at most one kind of content.
type frame struct {
	Start  *Start `json:"start,omitempty"`
	Stdout []byte `json:"stdout,omitempty"`
	// File is the path of a file. Data is its next piece; the pieces are sent in order from the first. The path is
	// relative to a folder that both sides know. A path that ends in a slash is a folder.
	File   string `json:"file,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Status *int   `json:"status,omitempty"`
}

// pieceBytes limits the data in a frame, and lineBytes limits its line. Both limits are in bytes.
const (
	pieceBytes = 48 << 10
	lineBytes  = 128 << 10
)

// Beat is the longest time between frames.
const Beat = time.Second

// Sender sends a delivery, on the node of the command. The methods of Sender may be called concurrently.
type Sender struct {
	mu         sync.Mutex
	lines      *json.Encoder
	stop, over chan struct{}
}

// NewSender starts a delivery to w. End ends it.
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
			_ = s.send(frame{}) // if this fails, the next Write returns the error
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

// Folder sends all files and folders in dir, with paths relative to dir.
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

// End sends the exit status of the command and ends the delivery.
func (s *Sender) End(status int) error {
	close(s.stop)
	<-s.over
	return s.send(frame{Status: &status})
}
