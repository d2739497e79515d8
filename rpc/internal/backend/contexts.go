// Package backend is what does the operations of services that are no package of the
// domain: [Daemon] those of Admin, and [Contexts] those of Dag, which need more than their
// store. Package server makes them, the operations of package rpc call them.
package backend

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
)

// Contexts does the operations of the Dag service.
type Contexts struct {
	*dag.Store
	NewKey  func() (codec.ContextID, error)             // makes the key of a new context; nil: there are none
	Scratch func() (engine.Engine, func() error, error) // as [dag.VerifyOptions] has it
}
