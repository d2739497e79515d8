package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
)

// Engine is one that a build of the program serves besides rocks and mem: a store that is not in
// a directory, and of which one of several daemons is the leader.
type Engine struct {
	// Name is what --engine names it by.
	Name string
	// Flags adds its flags to those of serve.
	Flags func(fs *pflag.FlagSet)
	// Open waits until this daemon leads the store, or ctx is done. Its error is that of a command.
	Open func(ctx context.Context, o EngineOptions) (*LedEngine, error)
}

// EngineOptions say what an engine is opened for.
type EngineOptions struct {
	Address string // where this daemon is, for those who wait
	Log     *slog.Logger
	Leads   func(address string) // is told who leads meanwhile, whenever that changes
}

// LedEngine is a store that this daemon leads. Close gives the lead back.
type LedEngine struct {
	engine.Engine
	Node codec.NodeID
	// Lost is closed when another daemon leads, or may: nothing is to be answered any more from what is in
	// memory.
	Lost <-chan struct{}
}
