package policytest

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// The judge says no to a use too many and to a number given twice: else the test above
// would hold nothing.
func TestTheJudgeFindsAUseTooMany(t *testing.T) {
	for _, op := range []struct {
		in  asks
		out int
	}{{asks{op: "use"}, 1}, {asks{op: "append"}, 1}} {
		var history []porcupine.Operation
		for i := range 4 {
			history = append(history, porcupine.Operation{ClientId: i, Input: op.in, Call: int64(i), Output: op.out, Return: 10})
		}
		require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(delegations, history, time.Minute))
	}
}
