package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
)

func newGroupTarget(p *process) *cobra.Command {
	var app string
	return groupCommand(p, daemonCommand{
		name: "target", args: []string{"APPLICATION"}, short: "Set the application that a group runs", example: "home " + exampleDigits,
		long:  "Set the application that a group runs, by its id.",
		flags: func(fs *pflag.FlagSet) { fs.StringVar(&app, "app-key", "", "the key of the application") },
	}, func(c *daemonCall, _ codec.GroupID, args []string) (op codec.GroupOp, err error) {
		op.Kind = codec.OpTargetApplicationSet
		if app != "" {
			if op.AppKey, err = parseID32[codec.Hash]("--app-key", app); err != nil {
				return op, err
			}
		}
		op.TargetApplicationID, err = c.applicationArg("APPLICATION", args[0])
		return op, err
	})
}

func newGroupPolicy(p *process) *cobra.Command {
	return groupCommand(p, daemonCommand{name: "policy", args: []string{"POLICY"}, short: "Set how a group upgrades", example: "home manual",
		long: "Set how a group upgrades: auto, manual or frozen."},
		func(_ *daemonCall, _ codec.GroupID, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpUpgradePolicySet
			op.UpgradePolicy, err = policyOf(args[0])
			return op, err
		})
}

func newGroupMigration(p *process) *cobra.Command {
	return groupCommand(p, daemonCommand{name: "migration", args: []string{"[METHOD]"}, short: "Set the method that is run on upgrade", example: "home to_v2\nhome",
		long: "Set the method that is run on upgrade; without METHOD none is."},
		func(_ *daemonCall, _ codec.GroupID, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpMigrationSet
			if len(args) > 0 {
				op.Migration = codec.Some(args[0])
			}
			return op, nil
		})
}

func newGroupMigrated(p *process) *cobra.Command {
	return groupCommand(p, daemonCommand{name: "migrated", args: []string{"CONTEXT", "METHOD"}, short: "Say that a context was migrated", example: "home room to_v2",
		long: "Say that a context was migrated by a method, which raises the revision of its application."},
		func(c *daemonCall, g codec.GroupID, args []string) (op codec.GroupOp, err error) {
			op.Kind, op.Method = codec.OpContextMigrated, args[1]
			op.ContextID, err = c.contextArg(g, "CONTEXT", args[0])
			return op, err
		})
}

func newGroupUpgrade(p *process) *cobra.Command {
	return parent("upgrade", "Upgrade a group, and say how far that is",
		"  stoa group upgrade start home 1 2 --contexts 3\n  stoa group upgrade progress home 2 0\n  stoa group upgrade show home",
		newUpgradeStart(p), newUpgradeProgress(p), newUpgradeDone(p), newUpgradeShow(p))
}

// count64 returns the number in an argument.
func count64(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, bad(fmt.Errorf("%s: %q is no number", what, text), "")
	}
	return n, nil
}

// upgradeCommand is a command of stoa group upgrade that proposes an op of a group.
func upgradeCommand(p *process, u daemonCommand, op func(args []string) (codec.GroupOp, error)) *cobra.Command {
	u.args = append([]string{"GROUP"}, u.args...)
	u.run = func(c *daemonCall) error {
		g, err := c.groupArg("GROUP", c.args[0])
		if err != nil {
			return err
		}
		o, err := op(c.args[1:])
		if err != nil {
			return err
		}
		return c.propose(g, o)
	}
	return u.command(p, "group upgrade")
}

func newUpgradeStart(p *process) *cobra.Command {
	var total uint64
	var method string
	return upgradeCommand(p, daemonCommand{
		name: "start", args: []string{"FROM", "TO"}, short: "Begin an upgrade", example: "home 1 2 --contexts 3 --migration to_v2",
		long: "Begin the upgrade of a group from one version of its application to another.",
		flags: func(fs *pflag.FlagSet) {
			fs.Uint64Var(&total, "contexts", 0, "how many contexts are upgraded")
			fs.StringVar(&method, "migration", "", "the method that migrates them")
		},
	}, func(args []string) (op codec.GroupOp, err error) {
		op = codec.GroupOp{Kind: codec.OpUpgradeStarted, Total: total, At: uint64(time.Now().Unix())}
		if method != "" {
			op.Migration = codec.Some(method)
		}
		if op.FromVersion, err = count64("FROM", args[0]); err == nil {
			op.ToVersion, err = count64("TO", args[1])
		}
		return op, err
	})
}

func newUpgradeProgress(p *process) *cobra.Command {
	return upgradeCommand(p, daemonCommand{name: "progress", args: []string{"COMPLETED", "FAILED"}, short: "Say how far the upgrade is", example: "home 2 0",
		long: "Say how many contexts have been upgraded, and how many could not. It exits 5 where no\nupgrade is in progress, or it has fewer contexts."},
		func(args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpUpgradeProgressed
			if op.Completed, err = count64("COMPLETED", args[0]); err == nil {
				op.Failed, err = count64("FAILED", args[1])
			}
			return op, err
		})
}

func newUpgradeDone(p *process) *cobra.Command {
	return upgradeCommand(p, daemonCommand{name: "done", short: "Say that the upgrade is over", example: "home",
		long: "Say that the upgrade of a group is over. It exits 5 where none is in progress."},
		func([]string) (codec.GroupOp, error) {
			return codec.GroupOp{Kind: codec.OpUpgradeCompleted, At: uint64(time.Now().Unix())}, nil
		})
}

// upgradeDoc is an upgrade as JSON.
type upgradeDoc struct {
	From      uint64 `json:"from_version,string"`
	To        uint64 `json:"to_version,string"`
	Migration string `json:"migration,omitempty"`
	Begun     string `json:"initiated_at"`
	By        string `json:"initiated_by"`
	State     string `json:"state"` // in_progress or completed
	Total     uint64 `json:"total,string"`
	Completed uint64 `json:"completed,string"`
	Failed    uint64 `json:"failed,string"`
	Ended     string `json:"completed_at,omitempty"`
}

func newUpgradeDoc(u *codec.GroupUpgradeValue) *upgradeDoc {
	d := &upgradeDoc{From: u.FromVersion, To: u.ToVersion, Migration: u.Migration.V, Begun: stamp(u.InitiatedAt), By: u.InitiatedBy.String(),
		State: "in_progress", Total: u.Status.Total, Completed: u.Status.Completed, Failed: u.Status.Failed}
	if u.Status.Phase == codec.UpgradeCompleted {
		d.State, d.Ended = "completed", stamp(u.Status.CompletedAt)
	}
	return d
}

// stamp returns a time of an op: its author's words, in unix seconds.
func stamp(seconds uint64) string { return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339) }

// said says for people how far the upgrade is.
func (d *upgradeDoc) said() string {
	text := fmt.Sprintf("%d to %d", d.From, d.To)
	if d.Migration != "" {
		text += " by " + plain(d.Migration)
	}
	if d.State == "completed" {
		return text + ", completed " + d.Ended
	}
	text += fmt.Sprintf(", %d of %d", d.Completed, d.Total)
	if d.Failed > 0 {
		text += fmt.Sprintf(", %d failed", d.Failed)
	}
	return text
}

func newUpgradeShow(p *process) *cobra.Command {
	return daemonCommand{
		name: "show", args: []string{"GROUP"}, offline: true, short: "Show the latest upgrade of a group", long: "Show the latest upgrade of a group. It exits 4 if there was none.", example: "home",
		run: func(c *daemonCall) error {
			g, err := c.groupArg("GROUP", c.args[0])
			if err != nil {
				return err
			}
			info, err := c.read.Show(c.ctx, g)
			if err != nil {
				return err
			}
			if !info.Upgrade.Valid {
				return &failure{exitNotFound, fmt.Errorf("group %s was never upgraded", g), ""}
			}
			d := newUpgradeDoc(&info.Upgrade.V)
			return c.emit(d, func(w io.Writer) { fmt.Fprintln(w, d.said()) })
		},
	}.command(p, "group upgrade")
}
