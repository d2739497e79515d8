package program

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/agents"
	"github.com/stoadb/stoa/cmd/stoa/internal/blobs"
	"github.com/stoadb/stoa/cmd/stoa/internal/buckets"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/cmd/stoa/internal/contexts"
	"github.com/stoadb/stoa/cmd/stoa/internal/daemon"
	"github.com/stoadb/stoa/cmd/stoa/internal/governance"
	"github.com/stoadb/stoa/cmd/stoa/internal/inspection"
	"github.com/stoadb/stoa/cmd/stoa/internal/jobs"
	"github.com/stoadb/stoa/cmd/stoa/internal/keyvalues"
	"github.com/stoadb/stoa/cmd/stoa/internal/locks"
	"github.com/stoadb/stoa/cmd/stoa/internal/policies"
	"github.com/stoadb/stoa/cmd/stoa/internal/records"
	"github.com/stoadb/stoa/cmd/stoa/internal/shell"
	"github.com/stoadb/stoa/cmd/stoa/internal/streams"
	"github.com/stoadb/stoa/cmd/stoa/internal/tasks"
)

// addCommands adds the commands, in the order in which help lists them. Those of a noun
// are in the package of that name.
func addCommands(root *cobra.Command, p *cli.Process) {
	root.AddCommand(newConcepts())
	for _, part := range []struct {
		heading  string // under which help lists them
		commands []*cobra.Command
	}{
		{"Daemon", daemon.Commands(p)},
		{"Daemon", []*cobra.Command{shell.Command(p, RunUntil)}},
		{"Records", records.Commands(p)},
		{"Records", blobs.Commands(p)},
		{"Contexts", contexts.Commands(p)},
		{"Key-values", keyvalues.Commands(p)},
		{"Key-values", buckets.Commands(p)},
		{"Key-values", streams.Commands(p)},
		{"Policy", policies.Commands(p)},
		{"Tasks", tasks.Commands(p)},
		{"Tasks", locks.Commands(p)},
		{"Tasks", agents.Commands(p)},
		{"Tasks", jobs.Commands(p)},
		{"Governance", governance.Commands(p)},
		{"Inspection", inspection.Commands(p)},
		{"Offline", records.SchemaCommands(p)},
		{"Offline", []*cobra.Command{newCompletion(p), newMan(p), newVersion(p)}},
	} {
		if !root.ContainsGroup(part.heading) {
			root.AddGroup(&cobra.Group{ID: part.heading, Title: part.heading + ":"})
		}
		for _, cmd := range part.commands {
			cmd.GroupID = part.heading
			root.AddCommand(cmd)
		}
	}
}
