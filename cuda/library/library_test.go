//go:build nvidia

package library

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/cuda/driver"
)

// compile makes a shared library from a C file or from C source text.
func compile(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc to make a library with")
	}
	dir := t.TempDir()
	path := source
	if !strings.HasSuffix(source, ".c") {
		path = filepath.Join(dir, "source.c")
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(dir, name)
	arguments := append([]string{"-O2", "-fno-math-errno", "-shared", "-fPIC", "-o", library, path}, flags...)
	if out, err := exec.Command("gcc", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

// The test libraries work on the host, so a device pointer is a host pointer here.
func onHost(x []float32) driver.Pointer { return driver.Pointer(unsafe.Pointer(unsafe.SliceData(x))) }

func stream(t *testing.T) *driver.Stream {
	t.Helper()
	c, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Destroy(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func hostMemory(t *testing.T, c *driver.Context, elements int) []float32 {
	t.Helper()
	host, err := c.AllocHost(4 * elements)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.FreeHost(host); err != nil {
			t.Error(err)
		}
	})
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(host))), elements)
}

// A product by cuBLAS is row-major for every shape, transposition and distance between rows.
func TestSgemmIsRowMajor(t *testing.T) {
	s := stream(t)
	b, err := openCuBLAS(s.Context(), []string{compile(t, "libcublas.so", "testdata/cublas.c")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if version := b.Version(); version != "12.4.5" {
		t.Errorf("its version is %s", version)
	}
	const room = 16 * 16
	memory := hostMemory(t, s.Context(), 3*room)
	x, y, z := memory[:room], memory[room:2*room], memory[2*room:]
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.IntRange(1, 12)
		m, n, k := size.Draw(r, "m"), size.Draw(r, "n"), size.Draw(r, "k")
		transA, transB := rapid.Bool().Draw(r, "transA"), rapid.Bool().Draw(r, "transB")
		more := rapid.IntRange(0, 4)
		lda, ldb, ldc := more.Draw(r, "lda")+k, more.Draw(r, "ldb")+n, more.Draw(r, "ldc")+n
		if transA {
			lda += m - k
		}
		if transB {
			ldb += k - n
		}
		value := rapid.IntRange(-8, 8)
		for i := range memory {
			memory[i] = float32(value.Draw(r, "value"))
		}
		alpha, beta := float32(value.Draw(r, "alpha")), float32(value.Draw(r, "beta"))
		want := append([]float32(nil), z...)
		for i := range m {
			for j := range n {
				var sum float32
				for l := range k {
					sum += element(x, lda, transA, i, l) * element(y, ldb, transB, l, j)
				}
				want[i*ldc+j] = alpha*sum + beta*want[i*ldc+j]
			}
		}
		if err := b.Sgemm(s, transA, transB, m, n, k, alpha, onHost(x), lda, onHost(y), ldb, beta, onHost(z),
			ldc); err != nil {
			r.Fatal(err)
		}
		for i := range want {
			if z[i] != want[i] {
				r.Fatalf("element %d is %v but must be %v", i, z[i], want[i])
			}
		}
	})
	err = b.Sgemm(s, false, false, -1, 2, 3, 1, onHost(x), 3, onHost(y), 2, 0, onHost(z), 2)
	if err == nil ||
		err.Error() != "cublasSgemm of -1 x 2 x 3 on cuda:0: a value that it does not take (cublasStatus_t 7)" {
		t.Errorf("%v", err)
	}
	if allocated := testing.AllocsPerRun(20, func() {
		if err := b.Sgemm(s, false, true, 2, 2, 2, 1, onHost(x), 2, onHost(y), 2, 0, onHost(z), 2); err != nil {
			t.Fatal(err)
		}
	}); allocated != 0 {
		t.Errorf("a product allocates %v times", allocated)
	}
}

func element(x []float32, ld int, transposed bool, row, column int) float32 {
	if transposed {
		row, column = column, row
	}
	return x[row*ld+column]
}

// A group of one rank makes NCCL do everything that a larger group does. A rank that waits for missing ranks waits
// until its deadline.
func TestNCCL(t *testing.T) {
	n, err := OpenNCCL()
	if err != nil {
		t.Skip(err)
	}
	defer n.Close()
	s := stream(t)
	c := s.Context()
	if version, err := n.Version(); !strings.HasPrefix(version, "2.") || err != nil {
		t.Errorf("its version is %s, %v", version, err)
	}
	soon := func() time.Time { return time.Now().Add(time.Minute) }
	alone := join(t, n, c, 1, soon())
	host, memory := hostMemory(t, c, 8), deviceMemory(t, c, 32)
	for i := range host {
		host[i] = float32(i)
	}
	must(t, s.CopyIn(memory, unsafe.Pointer(unsafe.SliceData(host)), 32))
	must(t, alone.AllReduce(s, memory, memory+16, 3, Average, soon()))
	must(t, alone.AllReduce(s, memory, memory, 1, Sum, soon()))
	must(t, s.CopyOut(unsafe.Pointer(unsafe.SliceData(host)), memory, 32))
	must(t, s.Synchronize())
	if want := []float32{0, 1, 2, 3, 0, 1, 2, 7}; !slices.Equal(host, want) {
		t.Errorf("it leaves %v, want %v", host, want)
	}
	must(t, alone.Err())
	must(t, alone.Close(soon()))
	must(t, alone.Close(soon()))
	expect(t, alone.AllReduce(s, memory, memory, 1, Sum, soon()), "the communicator was aborted")

	// A communicator keeps the error of a refused call; then only Abort ends it.
	left := join(t, n, c, 1, soon())
	expect(t, left.AllReduce(s, memory, memory, 1, Operation(99), soon()),
		"ncclAllReduce of 1 elements on cuda:0: invalid argument (ncclResult_t 4)")
	for _, err := range []error{left.AllReduce(s, memory, memory, 1, Sum, soon()), left.Err()} {
		expect(t, err, "work of NCCL on cuda:0: invalid argument (ncclResult_t 4)")
	}
	must(t, left.Abort())
	must(t, left.Abort())
	expect(t, left.Err(), "the communicator was aborted")

	id, err := n.UniqueID()
	must(t, err)
	_, err = n.Join(c, id, 2, 0, time.Now().Add(20*time.Millisecond))
	expect(t, err, "rank 0 of 2 on cuda:0: other ranks did not do their part in time")
	_, err = n.Join(c, id, 2, 2, soon())
	expect(t, err, "rank 2 of 2 on cuda:0: ncclCommInitRankConfig: invalid argument (ncclResult_t 4)")
}

func join(t *testing.T, n *NCCL, c *driver.Context, ranks int, deadline time.Time) *Communicator {
	t.Helper()
	id, err := n.UniqueID()
	must(t, err)
	comm, err := n.Join(c, id, ranks, 0, deadline)
	must(t, err)
	return comm
}

func deviceMemory(t *testing.T, c *driver.Context, bytes int) driver.Pointer {
	t.Helper()
	memory, err := c.Alloc(bytes)
	must(t, err)
	t.Cleanup(func() {
		if err := c.Free(memory); err != nil {
			t.Error(err)
		}
	})
	return memory
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%v\nbut must be\n%s", err, want)
	}
}

// The error for a missing library is one sentence. The sentence says more if the library exists but does not load.
func TestLibrariesThatAreNotThere(t *testing.T) {
	empty := compile(t, "libempty.so", "int nothing;")
	dir := t.TempDir()
	needy := compile(t, "libneedy.so", "int nothing;", "-Wl,--no-as-needed",
		compile(t, "libpsbench-lt.so", "int more;", "-Wl,-soname,libpsbench-lt.so"), "-Wl,-rpath,"+dir)
	c := stream(t).Context()
	_, err := openCuBLAS(c, []string{"libpsbench-absent.so.13", "libpsbench-absent.so"})
	expect(t, err,
		"no cuBLAS: none of libpsbench-absent.so.13, libpsbench-absent.so is where the loader looks (LD_LIBRARY_PATH) or in Python's packages")
	_, err = openCuBLAS(c, []string{"libpsbench-absent.so.13", empty})
	expect(t, err, fmt.Sprintf("no cuBLAS: none of libpsbench-absent.so.13, %s works: %s: it has no cublasCreate_v2",
		empty, empty))
	_, err = openNCCL([]string{needy})
	expect(t, err,
		fmt.Sprintf("no NCCL: none of %s works: %s: libpsbench-lt.so: cannot open shared object file: No such file or directory",
			needy, needy))
	_, err = openNCCL([]string{empty})
	expect(t, err, fmt.Sprintf("no NCCL: none of %s works: %s: it has no ncclGetVersion", empty, empty))
}

// psbench finds libraries that pip has installed near the Python on PATH, together with the libraries that they
// need.
func TestLibrariesOfWheels(t *testing.T) {
	lt := compile(t, "libcublasLt.so.12", "int more;", "-Wl,-soname,libcublasLt.so.12")
	needy := compile(t, "libcublas.so.12", "testdata/cublas.c", "-Wl,--no-as-needed", lt)
	s := stream(t)
	for _, environment := range []string{"PATH", "VIRTUAL_ENV", "PYTHONPATH"} {
		prefix := t.TempDir()
		packages := filepath.Join(prefix, "lib", "python3.12", "site-packages")
		folder := filepath.Join(packages, "nvidia", "cublas", "lib")
		must(t, os.MkdirAll(folder, 0o700))
		must(t, os.MkdirAll(filepath.Join(prefix, "bin"), 0o700))
		must(t, os.WriteFile(filepath.Join(prefix, "bin", "python3"), []byte("#!/bin/false\n"), 0o700))
		must(t, os.Symlink(lt, filepath.Join(folder, "libcublasLt.so.12")))
		must(t, os.Symlink(needy, filepath.Join(folder, "libcublas.so.12")))
		t.Run(environment, func(t *testing.T) {
			value := map[string]string{"PATH": filepath.Join(prefix, "bin") + ":" + os.Getenv("PATH"),
				"VIRTUAL_ENV": prefix, "PYTHONPATH": packages}[environment]
			t.Setenv(environment, value)
			if found := inWheels("libcublas.so.12"); !slices.Contains(found, filepath.Join(folder, "libcublas.so.12")) {
				t.Fatalf("found are %v", found)
			}
			b, err := openCuBLAS(s.Context(), []string{"libcublas.so.12"})
			must(t, err)
			must(t, b.Close())
		})
	}
}

// psbench uses the first cuBLAS that can create a handle, even if there is a newer one. If none can, the error
// contains the message of each.
func TestCuBLASThatDoesNotWork(t *testing.T) {
	s := stream(t)
	tooNew := compile(t, "libcublas.so.13", "testdata/cublas.c", "-DCREATE=1")
	sticks := compile(t, "libcublas.so.12", "testdata/cublas.c", "-DDESTROY=14")
	works := compile(t, "libcublas.so.11", "testdata/cublas.c")
	b, err := openCuBLAS(s.Context(), []string{tooNew, sticks, works})
	if err != nil {
		t.Fatal(err)
	}
	memory := hostMemory(t, s.Context(), 3)
	memory[0], memory[1] = 2, 3
	if err := b.Sgemm(s, false, false, 1, 1, 1, 1, onHost(memory), 1, onHost(memory[1:]), 1, 0, onHost(memory[2:]),
		1); err != nil || memory[2] != 6 {
		t.Errorf("2 x 3 is %v, %v", memory[2], err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	_, err = openCuBLAS(s.Context(), []string{tooNew, "libpsbench-absent.so", sticks})
	expect(t, err,
		fmt.Sprintf("no cuBLAS: none of %s, libpsbench-absent.so, %s works: %s: cublasCreate on cuda:0: it is not initialized (cublasStatus_t 1); "+
			"%s: cublasDestroy on cuda:0: an error of its own (cublasStatus_t 14)", tooNew, sticks, tooNew, sticks))
}
