package data

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// targetType is what targets are taken for that may be classes or numbers.
type targetType int

const (
	classes targetType = iota
	numbers
	// either are classes unless one is no integer, or samples of features alone have several.
	either
)

// wanted is what a run's criterion takes as targets, and its key.
type wanted struct {
	targets   targetType
	kind      sdk.TargetKind
	criterion string
}

// wantedOf is what a run wants, unless a setting says classes or numbers.
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

// noClass says that a number is no class; err does so where the criterion is not known.
func (w wanted) noClass(text string, err error) error {
	if w.criterion == "" {
		return err
	}
	return fmt.Errorf("the target is %s but criterion %s takes %s; for targets that are numbers use --create-criterion mse, l1 or bce",
		quote.Text(text), w.criterion, w.kind.Takes())
}

// checkSingle refuses a number that stands alone where there must be a probability of each class.
func (w wanted) checkSingle(t *target, text string) error {
	if w.targets == either && !t.whole {
		return w.noClass(text,
			fmt.Errorf("%s is not an integer; a single target is a class, an integer of 0 or more", quote.String(text)))
	}
	return nil
}

// areNumbers says whether targets are numbers: of so many for each sample, which has a bag or has not.
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
