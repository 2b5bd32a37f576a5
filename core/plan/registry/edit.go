package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// Remove removes a plugin and all its keys from the user's registry at path. Remove returns the kinds and keys that it
// removed, in order.
func Remove(ctx context.Context, path, name string) ([]string, error) {
	var keys []string
	err := edit(ctx, path, func(u *userFile) error {
		if _, there := u.sections[pluginSection][name]; !there {
			return u.unknown(name)
		}
		keys = u.remove(name)
		delete(u.sections[pluginSection], name)
		return nil
	})
	return keys, err
}

func (u *userFile) unknown(name string) error {
	names := slices.Sorted(maps.Keys(u.sections[pluginSection]))
	if len(names) == 0 {
		return fmt.Errorf("there is no plugin %s: %s has none", quote.String(name), quote.Word(u.path))
	}
	return fmt.Errorf("there is no plugin %s%s", quote.String(name),
		spelling.Hint(name, names, "plugins", "psbench plugin list shows all"))
}

// remove removes the keys of a plugin and returns them.
func (u *userFile) remove(name string) (keys []string) {
	for _, m := range kindMaps {
		for _, key := range slices.Sorted(maps.Keys(u.sections[m.name])) {
			if u.pluginOf(m.name, key) == name {
				delete(u.sections[m.name], key)
				keys = append(keys, string(m.kind)+" "+key)
			}
		}
	}
	return keys
}

// pluginOf returns the plugin that the entry of a key names, or "" if the entry is not valid.
func (u *userFile) pluginOf(section, key string) string {
	var e struct{ Plugin string }
	_ = json.Unmarshal(u.sections[section][key], &e)
	return e.Plugin
}

// commandOf returns the command of a plugin, or nil if its entry is not valid.
func (u *userFile) commandOf(name string) []string {
	var p struct{ Command []string }
	_ = json.Unmarshal(u.sections[pluginSection][name], &p)
	return p.Command
}

func (u *userFile) set(section, name string, entry any) error {
	text, err := json.Marshal(entry)
	if u.sections[section] == nil {
		u.sections[section] = map[string]json.RawMessage{}
	}
	u.sections[section][name] = text
	return err
}

// lockPatience limits how long another psbench may hold the lock of the registry.
const lockPatience = 10 * time.Second

// edit changes the user's registry while it holds a lock. Readers see either the old or the new file.
func edit(ctx context.Context, path string, change func(*userFile) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	u, err := readUser(path)
	if err != nil {
		return err
	}
	if err := change(u); err != nil {
		return err
	}
	text, err := u.text()
	if err != nil {
		return err
	}
	return replace(path, text)
}

// lock locks a folder. lock does not lock the registry file itself, because that file is replaced.
func lock(ctx context.Context, folder string) (unlock func(), err error) {
	f, err := os.Open(folder) // #nosec G304 -- the user's
	if err != nil {
		return nil, err
	}
	for late := time.Now().Add(lockPatience); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // #nosec G115 -- a descriptor
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(late):
			_ = f.Close()
			return nil, fmt.Errorf("folder %s cannot be locked, another psbench may be changing it: %w", quote.Word(folder),
				err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// text formats the registry as a file, with plugins first and all entries in order.
func (u *userFile) text() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"$schema":`)
	if b.Write(u.schema); u.schema == nil {
		b.WriteString(`"https://raw.githubusercontent.com/psbench/psbench/main/schemas/registry.schema.json"`)
	}
	for _, section := range sectionNames {
		if len(u.sections[section]) == 0 {
			continue
		}
		entries, err := json.Marshal(u.sections[section])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%q:%s", section, entries)
	}
	b.WriteString("}")
	var out bytes.Buffer
	err := json.Indent(&out, b.Bytes(), "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), err
}

// replace replaces a file in one step. If path is a symbolic link, replace changes the target.
func replace(path string, text []byte) error {
	if resolved, err := executable.Resolve(path); err == nil {
		path = resolved
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".registry-*") // only the user can read this file
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
