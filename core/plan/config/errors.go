package config

import "context"

// RuleError means that values are valid on their own but contradict each other, so that no experiment has them.
type RuleError struct{ err error }

func (e *RuleError) Error() string { return e.err.Error() }
func (e *RuleError) Unwrap() error { return e.err }

// rule wraps the errors of a step in RuleError.
func rule(step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := step(ctx); err != nil {
			return &RuleError{err}
		}
		return nil
	}
}

// UnknownSettingError means that a part has no setting with the given name.
type UnknownSettingError struct{ text string }

func (e *UnknownSettingError) Error() string { return e.text }
