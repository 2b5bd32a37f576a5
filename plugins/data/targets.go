package data

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// targetType is the interpretation of targets that could be classes or numbers.
type targetType int

const (
	classes targetType = iota
	numbers
	// either means classes, unless a target is not an integer or samples of features alone have several targets.
	either
)

// wanted is the target type that a run's criterion takes, and the criterion's key.
type wanted struct {
	targets   targetType
	kind      sdk.TargetKind
	criterion string
}

// wantedOf returns the target type for a run. A setting may override the criterion's choice.
func wantedOf(setting string, env sdk.DataEnv) (wanted, error) {
	w := wanted{kind: env.Wanted.OrClasses(), criterion: env.Criterion}
	switch {
	case setting != "auto" && setting != "classes" && setting != "numbers":
		return w, fmt.Errorf("setting target_type is %s but must be auto, classes or numbers", quote.String(setting))
	case setting == "numbers", setting == "auto" && (w.kind == sdk.NumberTargets || w.kind == sdk.ShareTargets):
		w.targets = numbers
	case setting == "auto" && w.kind == sdk.ProbabilityTargets:
		w.targets = either
	}
	return w, nil
}

// target is a target of a sample and the column where it starts.
type target struct {
	class  int64
	number float32
	whole  bool // it may be a class
	column int
}

// parse reads a target.
func (w wanted) parse(text string) (target, error) {
	if w.targets != numbers {
		class, err := parseNumber(text)
		if err == nil {
			return target{class: class, number: float32(class), whole: true}, nil
		}
		if _, why := numeral.Int(numeral.Truth(text)); !errors.Is(why, numeral.ErrFraction) {
			return target{}, err
		}
		if w.targets == classes {
			return target{}, w.noClass(text, err)
		}
	}
	number, err := parseTargetNumber(text)
	return target{number: number}, err
}

// noClass returns an error that a number is not a class. noClass returns err if the criterion is unknown.
func (w wanted) noClass(text string, err error) error {
	if w.criterion == "" {
		return err
	}
	return fmt.Errorf("the target is %s but criterion %s takes %s; for targets that are numbers use --create-criterion mse, l1 or bce",
		quote.Text(text), w.criterion, w.kind.Takes())
}

// checkSingle refuses a single number if the criterion needs a probability for each class.
func (w wanted) checkSingle(t *target, text string) error {
	if w.targets == either && !t.whole {
		return w.noClass(text,
			fmt.Errorf("%s is not an integer; a single target is a class, an integer of 0 or more", quote.String(text)))
	}
	return nil
}

// areNumbers reports whether targets are numbers. areNumbers needs to know whether all are integers, whether
// samples have bags, and how many targets each has.
func (w wanted) areNumbers(allWhole, hasBags bool, each int) bool {
	return w.targets == numbers || w.targets == either && (!allWhole || !hasBags && each > 1)
}

func parseTargetNumber(text string) (float32, error) {
	v, err := parseFeature(text)
	if err != nil {
		return 0, fmt.Errorf("%s is not a number that a float32 can hold; targets are finite numbers%s",
			quote.String(text), numeral.Why(err))
	}
	return v, nil
}
