package sdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
)

// Answers says what a hook leaves in a bucket, or a server of gradients answers: AnswersMean,
// AnswersSum, AnswersOwn, what AnswersAs gives, or "" where nobody says. psbench plugin check, the
// conformance kit, psbench comm and --check compare with it what came out.
type Answers string

const (
	// AnswersMean is the mean over all trainers; of a server, and of a hook that uses its server
	// alone, over the trainers of that server.
	AnswersMean Answers = "mean"
	// AnswersSum is the sum over the same.
	AnswersSum Answers = "sum"
	// AnswersOwn is what the part itself says: it is an Answerer.
	AnswersOwn Answers = "own"

	answersAs = "as "
)

// AnswersAs is what the built-in hook or server of that key leaves.
func AnswersAs(key string) Answers { return Answers(answersAs + key) }

// Answering declares what a hook leaves in a bucket, or a server of gradients answers. A part that only
// comes near to it, as one that compresses does, declares nothing, or is an Answerer. A part
// that its settings make compute something else declares what is true of all of them.
func Answering(answers Answers, part Part) Part {
	part.Answers = answers
	if err := part.CheckAnswers(); err != nil {
		mistake("%s %s declares that it answers %v", part.Kind, part.Key, err)
	}
	return part
}

// CheckAnswers says what is wrong with what the part declares to answer. The sentence goes on
// after "answers" or "is".
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

// Plain is what the part declares to answer, AnswersMean where it answers as a built-in part that
// averages.
func (p Part) Plain() Answers {
	if key, as := strings.CutPrefix(string(p.Answers), answersAs); as && slices.Contains(averaging, key) {
		return AnswersMean
	}
	return p.Answers
}

// averaging are the keys of built-in hooks and servers that leave the mean in every bucket.
var averaging = []string{"allreduce", "hybrid", "average", "average_batch"}

// Answerer gives what says what must come out, as far as the declaration alone does: nil where only
// the part could say it, or nobody.
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

// answering is an Answerer of one method.
type answering func(x *Exchange, answer *tensor.Gradient) error

// Answer implements Answerer.
func (a answering) Answer(x *Exchange, answer *tensor.Gradient) error { return a(x, answer) }

// builtinAnswers is what the built-in hooks leave, and the built-in servers of gradients answer, by
// their keys.
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
