package result

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write stores r, a result of whatever schema, at path as JSON. A reader of path sees the file before or the
// whole new one, never a part: it is written beside path and then renamed. A
// path that is a device or a pipe is written straight.
func Write(path string, r any) error {
	target, direct, err := resolve(path)
	if err != nil {
		return err
	}
	if direct {
		err = writeDirect(target, r)
	} else {
		err = writeAtomic(target, r)
	}
	if err != nil {
		return fmt.Errorf("cannot write the result to %s: %w", path, err)
	}
	return nil
}

// CheckWritable says, before a run, whether Write could store a result at
// path. It leaves nothing behind.
func CheckWritable(path string) error {
	target, direct, err := resolve(path)
	if err != nil || direct {
		return err
	}
	f, err := createTemp(target)
	if err != nil {
		return fmt.Errorf("cannot write a result to %s: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Read loads the result at path. The schema must be the one of this psbench.
func Read(path string) (*Result, error) {
	data, err := os.ReadFile(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, fmt.Errorf("cannot read the result: %w", err)
	}
	r, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not a result that can be read: %w", path, err)
	}
	return r, nil
}

// resolve follows links, so that a rename replaces the file and not a link to
// it. It says whether the target must be written directly.
func resolve(path string) (target string, direct bool, err error) {
	if path == "" {
		return "", false, errors.New("the path of the result is empty: name a file")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, false, nil
	case err != nil:
		return "", false, fmt.Errorf("cannot write a result to %s: %w", path, cause(err))
	case info.IsDir():
		return "", false, fmt.Errorf("cannot write a result to %s: it is a directory, name a file in it", path)
	case !info.Mode().IsRegular():
		return path, true, nil
	}
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", false, fmt.Errorf("cannot write a result to %s: %w", path, cause(err))
	}
	return target, false, nil
}

func writeDirect(path string, r any) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // #nosec G304 -- the user names the file
	if err != nil {
		return cause(err)
	}
	return errors.Join(encode(f, r), cause(f.Close()))
}

func writeAtomic(path string, r any) (err error) {
	f, err := createTemp(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := encode(f, r); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return cause(err)
	}
	// Without Sync, a full disk can show itself only after the rename.
	if err := f.Sync(); err != nil {
		return cause(err)
	}
	if err := f.Close(); err != nil {
		return cause(err)
	}
	return cause(os.Rename(f.Name(), path))
}

func createTemp(path string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("no file can be made in directory %s: %w", filepath.Dir(path), cause(err))
	}
	return f, nil
}

func encode(f *os.File, r any) error {
	w := bufio.NewWriterSize(f, 1<<16)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return cause(err)
	}
	return cause(w.Flush())
}

// cause drops the operation and the name of the temporary file from err, which
// would tell the user nothing.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
