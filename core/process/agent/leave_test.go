package agent

import "testing"

// The core always receives the reply to its last call, even if the agent ends immediately afterwards.
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
