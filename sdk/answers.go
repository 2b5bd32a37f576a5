package sdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
)

// Answers declares the result of a hook or the answer of a gradient server. The value is
// AnswersMean, AnswersSum, AnswersOwn, a value of AnswersAs, or "" for unknown. psbench plugin
// check, the conformance kit, psbench comm and --check compare actual results with the declaration.
type Answers string

const (
	// AnswersMean is the mean over all trainers. For a server, and for a hook whose only link is its
	// server, AnswersMean is the mean over the trainers of that server.
	AnswersMean Answers = "mean"
	// AnswersSum is the sum over the same trainers.
	AnswersSum Answers = "sum"
	// AnswersOwn means that the part itself predicts its result. The part must be an Answerer.
	AnswersOwn Answers = "own"

	answersAs = "as "
)

// AnswersAs declares that a part gives the same result as the built-in hook or server with this
// key.
func AnswersAs(key string) Answers { return Answers(answersAs + key) }

// Answering returns part with a declaration of its result: the values that a hook leaves in a
// bucket, or the answer of a gradient server. A part whose result is approximate, such as a
// compressor, declares nothing or is an Answerer. If settings change the computation, the
// declaration must hold for all settings. Answering panics if the declaration is impossible for
// part.
func Answering(answers Answers, part Part) Part {
	part.Answers = answers
	if err := part.CheckAnswers(); err != nil {
		mistake("%s %s declares that it answers %v", part.Kind, part.Key, err)
	}
	return part
}

// CheckAnswers returns an error if the part's Answers are invalid. The caller puts "answers" or
// "is" before the message.
func (p Part) CheckAnswers() error {
	key, as := strings.CutPrefix(string(p.Answers), answersAs)
	own := p.Answers == AnswersOwn
	switch {
	case p.Answers == "":
		return nil
	case p.Kind != KindHook && (p.Kind != KindServer || p.Serves != ServiceGradients):
		return fmt.Errorf("%q, which only a hook or a server of gradients can", string(p.Answers))
	case !own && (p.Asynchronous || p.Quorum != ""):
		return fmt.Errorf("%q, but a %s that does not wait for all of its trainers can only answer %q",
			string(p.Answers), p.Kind, string(AnswersOwn))
	case own, p.Answers == AnswersMean, p.Answers == AnswersSum, as && builtinAnswers[p.Kind][key] != nil:
		return nil
	}
	keys := slices.Sorted(maps.Keys(builtinAnswers[p.Kind]))
	return fmt.Errorf("%q, but must be %s, %s, %s, or %q with one of %s",
		string(p.Answers), AnswersMean, AnswersSum, AnswersOwn, answersAs+"KEY", strings.Join(keys, ", "))
}

// Plain returns the part's Answers. Plain returns AnswersMean if the part answers like a built-in
// part that averages.
func (p Part) Plain() Answers {
	if key, as := strings.CutPrefix(string(p.Answers), answersAs); as && slices.Contains(averaging, key) {
		return AnswersMean
	}
	return p.Answers
}

// averaging lists the keys of the built-in hooks and servers whose result is the mean in every
// bucket.
var averaging = []string{"allreduce", "hybrid", "average", "average_batch"}

// Answerer returns an Answerer that follows from the declaration alone. Answerer returns nil if
// only the part can compute its answer, or if the answer is unknown.
func (p Part) Answerer() Answerer {
	switch p.Plain() {
	case AnswersMean:
		return answering((*Exchange).Average)
	case AnswersSum:
		return answering((*Exchange).Sum)
	}
	key, as := strings.CutPrefix(string(p.Answers), answersAs)
	if known := builtinAnswers[p.Kind][key]; as && known != nil {
		return known
	}
	return nil
}

// answering is a function that implements Answerer.
type answering func(x *Exchange, answer *tensor.Gradient) error

// Answer implements Answerer.
func (a answering) Answer(x *Exchange, answer *tensor.Gradient) error { return a(x, answer) }

// builtinAnswers computes the results of the built-in hooks and servers of gradients, by key.
var builtinAnswers = map[Kind]map[string]answering{
	KindHook: {
		"allreduce": (*Exchange).Average,
		"hybrid":    (*Exchange).Average,
		"rpc":       (*Exchange).PushPull,
		"sparse_rpc": func(x *Exchange, answer *tensor.Gradient) error {
			if x.Bucket.Sparse {
				return x.PushPull(answer)
			}
			return x.Average(answer)
		},
		"noop": func(x *Exchange, answer *tensor.Gradient) error { return answer.CopyFrom(x.Gradients[x.Rank]) },
	},
	KindServer: {"average": (*Exchange).Average, "average_batch": (*Exchange).Average},
}
