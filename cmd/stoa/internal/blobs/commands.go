// Package blobs has the commands that store, read and verify content by its SHA-256.
package blobs

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Commands returns the commands of this package.
func Commands(p *cli.Process) []*cobra.Command { return []*cobra.Command{newBlob(p)} }
