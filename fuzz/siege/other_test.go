//go:build !linux

package siege

import "testing"

func TestSiege(t *testing.T) { t.Skip("only Linux has users as the siege makes them") }
