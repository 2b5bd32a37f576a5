package agent

import "testing"

// The core has the reply to its last call, however soon the agent ends after that.
func TestLeaveIsAnswered(t *testing.T) {
	for range 100 {
		agent := serve(t, patience)
		if err := dial(t, agent, patience).Leave(false); err != nil {
			t.Fatal(err)
		}
		if err := agent.end(t); err != nil {
			t.Fatal(err)
		}
	}
}
