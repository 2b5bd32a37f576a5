package agent

import (
	"encoding/json"
	"errors"

	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/identity"
)

// call holds the data, sent as JSON, that a run in its own process needs to call the core's agents.
type call struct {
	Secret []byte   `json:"secret"`
	Hosts  []atHost `json:"hosts"` // the core's host first
}

// atHost is the address of the agent on a host.
type atHost struct {
	Host    string `json:"host"`
	Address string `json:"address,omitempty"` // IP and port; empty for the core
}

// Call encodes the meeting, including the secret, as a text for a conducted run.
func (m *Meeting) Call() (string, error) {
	c := call{Secret: m.Secret}
	for _, t := range m.Tasks {
		c.Hosts = append(c.Hosts, atHost{t.Host, t.Address})
	}
	text, err := json.Marshal(c) // #nosec G117 -- for the run alone
	return string(text), err
}

// Called decodes a text that Call returned. Errors of Called do not quote the text, because the text contains the
// secret.
func Called(text string) (*Meeting, error) {
	var c call
	if json.Unmarshal([]byte(text), &c) != nil || len(c.Hosts) == 0 {
		return nil, errors.New("the addresses of this run's agents are not in psbench's format")
	}
	id, err := identity.Of(c.Secret, Purpose)
	if err != nil {
		return nil, err
	}
	m := &Meeting{Identity: id}
	for i, h := range c.Hosts {
		m.Tasks = append(m.Tasks, rollcall.Task{Rank: i, Size: len(c.Hosts), Host: h.Host, Address: h.Address})
	}
	return m, nil
}

// Present asks each host's agent for a heartbeat, and returns an error if an agent is lost.
func Present(hosts []*Host) error {
	errs := make(chan error, len(hosts))
	for _, h := range hosts {
		go func() {
			err := h.lost()
			if err == nil {
				err = h.sign(h.life)
			}
			errs <- err
		}()
	}
	var lost error
	for range hosts {
		if err := <-errs; err != nil && lost == nil {
			lost = err
		}
	}
	return lost
}
