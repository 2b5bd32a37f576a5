package config

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// source says where values come from.
type source struct {
	sort  sort
	as    string // option that the user gave instead of the real one
	place string // for fromPlace: a file or the name of the caller's layer; for fromPart: kind and key
}

// These are the origins of values that were not given: byDefault, or derived followed by the reason.
const (
	byDefault = "default"
	derived   = "derived: "
)

type sort int

const (
	fromDefault sort = iota
	fromPart         // defaults of the chosen trainer or model
	fromPlace
	fromEnvironment
	fromFlag
)

// name returns a key in the spelling of the source, as the beginning of an error.
func (s source) name(key string) string {
	if s.as != "" {
		key = s.as
	}
	switch s.sort {
	case fromFlag:
		return "--" + strings.ReplaceAll(key, "_", "-")
	case fromEnvironment:
		return option.EnvPrefix + strings.ToUpper(key)
	case fromPlace:
		return key + " in " + s.place
	case fromPart:
		return "--" + strings.ReplaceAll(key, "_", "-") + " (default of " + s.place + ")"
	default:
		return "--" + strings.ReplaceAll(key, "_", "-") + " (default)"
	}
}

// origin returns where the value of a key comes from.
func (s source) origin(key string) string {
	switch s.sort {
	case fromFlag:
		return "flag " + s.name(key)
	case fromEnvironment:
		return "environment " + s.name(key)
	case fromPlace:
		return s.place
	case fromPart:
		return "default of " + s.place
	default:
		return byDefault
	}
}

func unknownKey(s source, key string) error {
	if s.sort == fromEnvironment {
		return unknownVariable(s.name(key))
	}
	return fmt.Errorf("unknown key %s in %s%s", quote.String(key), s.place,
		spelling.Hint(key, option.Keys(), "keys", "psbench config shows all"))
}
