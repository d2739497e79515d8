package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// Package rpc knows exit codes and hints of the errors below this package by itself.
func TestExitCodesAndHintsAreThoseOfPackageRPC(t *testing.T) {
	for err, code := range map[error]int{
		errors.New("unknown"): exitBad, engine.ErrCorrupt: exitDamage, rpc.ErrNoDaemon: exitOpen,
		engine.ErrNotFound: exitNotFound, engine.ErrConflict: exitRefused,
	} {
		require.Equal(t, code, explain(err).code, err)
	}
	require.Equal(t, "`stoa verify` says more; "+mendHint, explain(engine.ErrCorrupt).hint)
	require.Equal(t, conceptsHint, explain(namespace.ErrNotEffective).hint)
}
