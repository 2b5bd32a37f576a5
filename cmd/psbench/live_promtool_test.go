//go:build !race

package main

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The promtool of Prometheus accepts the metrics of a running sweep, including the medians of cells.
func TestPromtoolAcceptsMetrics(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool")
	}
	t.Parallel()
	s := startLive(t,
		"sweep --live --ntrainer 2 --nserver 1 --warmup none --repeats 3 --seconds 1 --axis server=average,average_batch --no-again --out "+
			filepath.Join(t.TempDir(), "study"))
	var text []byte
	for until := time.Now().Add(time.Minute); !bytes.Contains(text,
		[]byte("psbench_cell_throughput_samples_per_second{")) ||
		!bytes.Contains(text, []byte("psbench_run_loss ")); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("within a minute there are no metrics of a cell and of a run:\n%s", text)
		}
		text = scraped(t, s.url+"metrics")
	}
	check := func(text []byte) ([]byte, error) {
		c := exec.CommandContext(t.Context(), tool, "check", "metrics")
		c.Stdin = bytes.NewReader(text)
		return c.CombinedOutput()
	}
	if said, err := check(text); err != nil || len(said) > 0 {
		t.Errorf("it says %s, %v of\n%s", said, err, text)
	}
	bad := strings.ReplaceAll(string(text), "psbench_runs_total", "psbench_runs")
	if said, err := check([]byte(bad)); err == nil {
		t.Errorf("of a counter without _total it says %q", said)
	}
	if err := s.end(); err != nil {
		t.Fatalf("%v: %s", err, s.said)
	}
}

// scraped returns the result of a scrape.
func scraped(t *testing.T, url string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%s is answered with %s, %v", url, reply.Status, err)
	}
	return text
}
