package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// unasked are the commands that delete or replace without asking, and why.
var unasked = map[string]string{
	"stoa context private delete": "one value, whose key stands in the command line",
	"stoa record delete":          "one record, whose id stands in the command line",
	"stoa task delete":            "one task, whose id stands in the command line",
	"stoa approval policy delete": "one policy, whose id stands in the command line",
	"stoa bucket delete":          "one value, whose key stands in the command line, and whose history stays",
	"stoa restore":                "what it replaces it moves aside",
	"stoa dag cursors":            "a cursor is a place, not data",
	"stoa event group delete":     "a group is a place, and what is pending; its entries stay",
}

func TestWhatDestroysWantsYes(t *testing.T) {
	asks := map[string]bool{}
	everyLeaf(func(path string, cmd *cobra.Command) {
		destroys := cmd.Name() == "delete" || cmd.Name() == "drop" || cmd.Flag("replace") != nil || cmd.Flag("drop") != nil || cmd.Flag("force") != nil
		if cmd.Flag("yes") != nil {
			asks[path] = true
		} else if destroys && unasked[path] == "" {
			t.Errorf("%s destroys, and has no --yes", path)
		}
	})
	for path := range unasked {
		require.False(t, asks[path], "%s asks: it is not one of those that do not", path)
	}
	require.Equal(t, map[string]bool{"stoa blob delete": true, "stoa context delete": true, "stoa dag seed": true, "stoa group delete": true,
		"stoa group signing-keys": true, "stoa namespace pending drop": true, "stoa delete": true, "stoa put": true,
		"stoa bucket alter": true, "stoa bucket drop": true, "stoa bucket purge-deletes": true, "stoa contract revoke": true,
		"stoa stream alter": true, "stoa stream drop": true, "stoa stream consumer drop": true, "stoa stream dead drop": true,
		"stoa import": true, "stoa kv tenants drop": true, "stoa policy drop": true, "stoa task import": true}, asks)
}
