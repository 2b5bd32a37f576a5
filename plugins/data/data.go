// Package data provides the built-in data parts.
package data

import "github.com/psbench/psbench/sdk"

// Parts lists the data parts of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewData("bags", DefaultBags, NewBags),
		sdk.NewData("clicks", DefaultClicks, NewClicks),
		sdk.NewData("criteo", DefaultCriteo, NewCriteo),
		sdk.NewData("dense", DefaultDense, NewDense),
		sdk.NewData("dummy", DefaultDummy, NewDummy),
		sdk.NewData("file", DefaultFile, NewFile),
		sdk.NewData("idx", DefaultIdx, NewIdx),
		sdk.NewData("inline", DefaultInline, NewInline),
	}
}
