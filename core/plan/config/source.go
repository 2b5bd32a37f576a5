package config

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// source is the origin of values.
type source struct {
	sort  sort
	as    string // the option that the user gave in place of the one that it stands for
	place string // of fromPlace: a file, or the caller's name of its layer; of fromPart: its kind and key
}

// Origins of values that were not given: byDefault, or derived with the reason.
const (
	byDefault = "default"
	derived   = "derived: "
)

type sort int

const (
	fromDefault sort = iota
	fromPart         // the defaults of the chosen trainer or model
	fromPlace
	fromEnvironment
	fromFlag
)

// name returns a key in the source's spelling, to begin an error.
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

// origin says where the value of a key comes from.
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
