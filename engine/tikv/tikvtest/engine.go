package tikvtest

import (
	"errors"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/tikv"
)

// Engine is an engine on a cluster of its own, which ends with it.
type Engine struct {
	engine.Engine
	end func() error
}

// NewEngine returns an engine on a new cluster, or in a new place of that which STOA_TIKV_PD names. It panics where there is none to be had: it takes
// the place of mem.New in the tests of other packages; see `make test-tikv`.
func NewEngine() *Engine {
	c, end, err := anywhere()
	if err != nil {
		panic(err)
	}
	e, err := tikv.New(c.KVStore, c.Options)
	if err != nil {
		panic(errors.Join(err, end()))
	}
	return &Engine{e, end}
}

// Close ends the engine and its cluster.
func (e *Engine) Close() error {
	if err := e.Engine.Close(); err != nil {
		return err
	}
	return e.end()
}
