package folder

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// A folder is refused if any file is truncated or has one wrong bit.
func TestDamageIsTold(t *testing.T) {
	dir := written(t, example())
	columns, err := filepath.Glob(filepath.Join(dir, npy.Folder, "*.npy"))
	if err != nil || len(columns) != 9 {
		t.Fatal(columns, err)
	}
	refused := func(path, what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil {
			t.Errorf("%s, %s: it is read", filepath.Base(path), what)
		}
	}
	for _, path := range append(columns, filepath.Join(dir, resultName)) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for length := 0; length < len(whole)-2; length += 1 + len(whole)/30 {
			refused(path, fmt.Sprintf("cut to %d bytes", length), whole[:length])
		}
		for at := 0; at < len(whole); at += 5 + len(whole)/300 {
			changed := append([]byte{}, whole...)
			if changed[at] ^= 1 << (at % 8); strings.EqualFold(string(changed), string(whole)) {
				continue // only upper or lower case of a digit in the checksum has changed
			}
			refused(path, fmt.Sprintf("byte %d changed", at), changed)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil {
			t.Errorf("it is read without %s", filepath.Base(path))
		}
		for _, other := range []func() error{
			func() error { return os.Mkdir(path, 0o700) },
			func() error { return syscall.Mkfifo(path, 0o600) }, // opening a pipe would block
		} {
			if err := other(); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir); err == nil {
				t.Errorf("%s is no file, but read", filepath.Base(path))
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}

// Whatever its files contain, a folder is refused or has at most as many samples as its files.
func FuzzRead(f *testing.F) {
	dir, err := os.MkdirTemp("", "psbench-fuzz-")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = os.RemoveAll(dir) })
	run := filepath.Join(dir, "run")
	out, err := Create(run)
	if err != nil {
		f.Fatal(err)
	}
	if err := out.Write(example()); err != nil {
		f.Fatal(err)
	}
	head, err := os.ReadFile(filepath.Join(run, resultName))
	if err != nil {
		f.Fatal(err)
	}
	column, err := os.ReadFile(filepath.Join(run, npy.Folder, "series.key_a.npy"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(head, column, "")
	f.Add(head[:len(head)/2], column, result.Running)
	f.Add([]byte(`{"schema": "psbench.result/3"}`), column[:100], "\xff\n\n")
	f.Add([]byte(strings.Replace(string(head), `"count": 6`, `"count": 9000000000000000000`, 1)), column, "")
	f.Fuzz(func(t *testing.T, head, column []byte, mark string) {
		for path, data := range map[string][]byte{resultName: head, npy.Folder + "/series.key_a.npy": column,
			markName: []byte(mark)} {
			if err := os.WriteFile(filepath.Join(run, path), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if mark == "" {
			_ = os.Remove(filepath.Join(run, markName))
		}
		_ = IsComm(run)
		r, err := Read(run)
		if err != nil {
			return
		}
		count := 0
		for _, s := range r.Series {
			count += s.Len()
		}
		if 8*count > len(column) {
			t.Errorf("%d measurements of %d bytes", count, len(column))
		}
		if mark != "" && (r.Complete || r.Error == "") {
			t.Errorf("with a mark it is complete, or says not why: %q", r.Error)
		}
	})
}

const diskVariable = "PSBENCH_TEST_DISK"

// If the disk becomes full, the run reports this. The mark remains and contains the reason. No other files remain.
func TestFullDisk(t *testing.T) {
	if disk := os.Getenv(diskVariable); disk != "" {
		onFullDisk(t, disk)
		return
	}
	disk := t.TempDir()
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=256k none "$0" && exec "$@"`, disk, os.Args[0], "-test.run=^TestFullDisk$")
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none",
		disk).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v, %s", err, out)
	}
	cmd.Env = append(os.Environ(), diskVariable+"="+disk)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func onFullDisk(t *testing.T, disk string) {
	r := example()
	s := r.SeriesOf(0, "forward_metric", "forward_pass")
	for i := range int64(5000) { // 40 KB per column
		s.Add(sdk.Measurement{Key: sdk.Key{A: i}, StartNS: i, DurationNS: i})
	}
	written := 0
	for n := 0; ; n++ {
		dir := filepath.Join(disk, fmt.Sprint(n))
		f, err := Create(dir)
		if err != nil {
			if !strings.HasSuffix(err.Error(), "no space left on device") {
				t.Error(err)
			}
			break
		}
		err = f.Write(r)
		if err == nil {
			written++
			continue
		}
		if !strings.HasSuffix(err.Error(), "no space left on device") ||
			!strings.Contains(err.Error(), "the result cannot be written to "+dir+": ") {
			t.Error(err)
		}
		if err := f.Fail(err.Error()); err != nil {
			t.Error(err)
		}
		status, serr := StatusOf(dir)
		if serr != nil || status.Complete || !strings.Contains(status.Reason, "no space left on device") {
			t.Errorf("%+v, %v", status, serr)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 2 { // the mark and the logs
			t.Errorf("it leaves %v", entries)
		}
		break
	}
	if written != 1 {
		t.Errorf("%d runs were written of 160 KB each on a disk of 256 KiB", written)
	}
	if _, err := Read(filepath.Join(disk, "0")); err != nil {
		t.Error(err)
	}
	onFullestDisk(t, disk)
}

// Even if the disk has no room for another file, the mark contains the reason.
func onFullestDisk(t *testing.T, disk string) {
	dir := filepath.Join(disk, "last")
	f, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "all"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk takes a file of 1 MiB")
	}
	for _, reason := range []string{"the result cannot be written", "short"} {
		if err := f.Fail(reason); err != nil {
			t.Error(err)
		}
		if status, err := StatusOf(dir); err != nil || status != (Status{Reason: reason}) {
			t.Errorf("%+v, %v", status, err)
		}
	}
}
