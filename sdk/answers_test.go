package sdk

import (
	"strings"
	"testing"
)

// Answering refuses an impossible declaration, and the error lists the possible ones.
func TestAnsweringRefuses(t *testing.T) {
	hook := NewHook("tested", struct{}{}, func(struct{}, HookEnv) (Hook, error) { return nil, nil })
	server := NewServer("tested", struct{}{}, func(struct{}, ServerEnv) (Server, error) { return nil, nil })
	for _, c := range []struct {
		answers Answers
		part    Part
		want    string // expected error; "" if none
	}{
		{AnswersMean, hook, ""},
		{AnswersSum, server, ""},
		{AnswersOwn, Asynchronous(server), ""},
		{AnswersAs("sparse_rpc"), hook, ""},
		{AnswersAs("average_batch"), server, ""},
		{AnswersAs("average"), hook,
			`hook tested declares that it answers "as average", but must be mean, sum, own, or "as KEY" with one of allreduce, hybrid, noop, rpc, sparse_rpc`},
		{"averge", server,
			`server tested declares that it answers "averge", but must be mean, sum, own, or "as KEY" with one of average, average_batch`},
		{AnswersMean, Asynchronous(server),
			`"mean", but a server that does not wait for all of its trainers can only answer "own"`},
		{AnswersMean, NewTableServer("tested", struct{}{}, func(struct{}, TableEnv) (TableServer, error) {
			return nil, nil
		}), "which only a hook or a server of gradients can"},
		{AnswersMean, NewTrainer("tested", struct{}{}, func(struct{}, TrainerEnv) (Trainer, error) { return nil, nil }),
			"which only a hook or a server of gradients can"},
	} {
		t.Run(string(c.answers)+" "+string(c.part.Kind), func(t *testing.T) {
			defer func() {
				said, _ := recover().(string)
				if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
					t.Errorf("%q, want %q", said, c.want)
				}
			}()
			if p := Answering(c.answers, c.part); p.Answers != c.answers ||
				(p.Answerer() == nil) != (c.answers == AnswersOwn) {
				t.Errorf("%+v", p)
			}
		})
	}
}
