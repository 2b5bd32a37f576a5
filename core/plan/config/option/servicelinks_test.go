package option

import (
	"slices"
	"strconv"
	"testing"
)

func TestServiceLinks(t *testing.T) {
	for i, link := range [][2]string{
		{"PSBENCH_SERVICE_HOST", "10.104.43.7"},
		{"PSBENCH_SERVICE_HOST", "fd00::7"},
		{"PSBENCH_SERVICE_PORT", "80"},
		{"PSBENCH_SERVICE_PORT_HTTP_METRICS", "9090"},
		{"PSBENCH_PORT", "tcp://10.104.43.7:80"},
		{"PSBENCH_PORT", "udp://[fd00::7]:53"},
		{"PSBENCH_PORT_80_TCP", "tcp://10.104.43.7:80"},
		{"PSBENCH_PORT_80_TCP_PROTO", "tcp"},
		{"PSBENCH_PORT_80_TCP_PORT", "80"},
		{"PSBENCH_PORT_80_TCP_ADDR", "10.104.43.7"},
		{"PSBENCH_MASTER_PORT", "tcp://10.104.43.8:29500"},
		{"PSBENCH_SET_SERVICE_HOST", "10.0.0.1"},
		{"PSBENCH_CORE_PORT_29417_SCTP_ADDR", "10.0.0.1"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if !IsServiceLink(link[0], link[1]) {
				t.Errorf("%s=%s is that of a Service", link[0], link[1])
			}
		})
	}
	for i, own := range [][2]string{
		{"PSBENCH_MASTER_PORT", "29500"},
		{"PSBENCH_PORT", "80"},
		{"PSBENCH_PORT", "tcp://"},
		{"PSBENCH_PORT", "http://10.0.0.1:80"},
		{"PSBENCH_SERVICE_HOST", "average"},
		{"PSBENCH_SERVICE_PORT", "a"},
		{"PSBENCH_SERVER", "10.0.0.1"},
		{"PSBENCH_PORT_80_TCP_PROTO", "ipx"},
		{"SERVICE_HOST", "10.0.0.1"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if IsServiceLink(own[0], own[1]) {
				t.Errorf("%s=%s is not that of a Service", own[0], own[1])
			}
		})
	}
}

func TestWithoutServiceLinks(t *testing.T) {
	kept := []string{"PSBENCH_NAME=web", "PSBENCH_OTHER_NAME=/a/b", "PSBENCH_NTRAINER=2", "HOME=/root"}
	links := []string{"PSBENCH_NAME=/web/psbench", "PSBENCH_PORT=tcp://172.17.0.5:80", "PSBENCH_ENV_LANG=C",
		"PSBENCH_SERVICE_HOST=10.0.0.1"}
	if got := WithoutServiceLinks(slices.Concat(links, kept)); !slices.Equal(got, kept) {
		t.Errorf("left are %q, want %q", got, kept)
	}
}
