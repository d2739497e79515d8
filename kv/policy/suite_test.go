package policy_test

import (
	"testing"

	"github.com/stoadb/stoa/kv/policy/policytest"
)

func TestRows(t *testing.T) { policytest.Run(t, policytest.InProcess) }
