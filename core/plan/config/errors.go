package config

import "context"

// RuleError says that values are valid on their own but contradict each other, so there is no such experiment.
type RuleError struct{ err error }

func (e *RuleError) Error() string { return e.err.Error() }
func (e *RuleError) Unwrap() error { return e.err }

// rule turns the errors of a step into RuleErrors.
func rule(step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := step(ctx); err != nil {
			return &RuleError{err}
		}
		return nil
	}
}

// UnknownSettingError says that a part has no setting of a name.
type UnknownSettingError struct{ text string }

func (e *UnknownSettingError) Error() string { return e.text }
