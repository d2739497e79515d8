package cli

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
		errors.New("unknown"): ExitBad, engine.ErrCorrupt: ExitDamage, rpc.ErrNoDaemon: ExitOpen,
		engine.ErrNotFound: ExitNotFound, engine.ErrConflict: ExitRefused,
	} {
		require.Equal(t, code, Explain(err).Code, err)
	}
	require.Equal(t, "`stoa verify` says more; "+MendHint, Explain(engine.ErrCorrupt).Hint)
	require.Equal(t, ConceptsHint, Explain(namespace.ErrNotEffective).Hint)
}
