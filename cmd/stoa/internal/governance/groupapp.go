package governance

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
)

func newGroupTarget(p *cli.Process) *cobra.Command {
	var app string
	return groupCommand(p, "group", command{
		Name: "target", Args: []string{"APPLICATION"}, Short: "Set the application that a group runs", Example: "home " + cli.ExampleDigits,
		Long:  "Set the application that a group runs, by its id.",
		Flags: func(fs *pflag.FlagSet) { fs.StringVar(&app, "app-key", "", "the key of the application") },
	}, func(c *call, args []string) (op codec.GroupOp, err error) {
		op.Kind = codec.OpTargetApplicationSet
		if app != "" {
			if op.AppKey, err = cli.ParseID[codec.Hash]("--app-key", app); err != nil {
				return op, err
			}
		}
		op.TargetApplicationID, err = c.applicationArg("APPLICATION", args[0])
		return op, err
	})
}

func newGroupPolicy(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group", command{Name: "policy", Args: []string{"POLICY"}, Short: "Set how a group upgrades", Example: "home manual",
		Long: "Set how a group upgrades: auto, manual or frozen."},
		func(_ *call, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpUpgradePolicySet
			op.UpgradePolicy, err = policyOf(args[0])
			return op, err
		})
}

func newGroupMigration(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group", command{Name: "migration", Args: []string{"[METHOD]"}, Short: "Set the method that is run on upgrade", Example: "home to_v2\nhome",
		Long: "Set the method that is run on upgrade; without METHOD none is."},
		func(_ *call, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpMigrationSet
			if len(args) > 0 {
				op.Migration = codec.Some(args[0])
			}
			return op, nil
		})
}

func newGroupMigrated(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group", command{Name: "migrated", Args: []string{"CONTEXT", "METHOD"}, Short: "Say that a context was migrated", Example: "home room to_v2",
		Long: "Say that a context was migrated by a method, which raises the revision of its application."},
		func(c *call, args []string) (op codec.GroupOp, err error) {
			op.Kind, op.Method = codec.OpContextMigrated, args[1]
			op.ContextID, err = c.contextArg(c.group, "CONTEXT", args[0])
			return op, err
		})
}

func newGroupUpgrade(p *cli.Process) *cobra.Command {
	return cli.Parent("upgrade", "Upgrade a group, and say how far that is",
		"  stoa group upgrade start home 1 2 --contexts 3\n  stoa group upgrade progress home 2 0\n  stoa group upgrade show home",
		newUpgradeStart(p), newUpgradeProgress(p), newUpgradeDone(p), newUpgradeShow(p))
}

// count64 returns the number in an argument.
func count64(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("%s: %q is no number", what, text), "")
	}
	return n, nil
}

func newUpgradeStart(p *cli.Process) *cobra.Command {
	var total uint64
	var method string
	return groupCommand(p, "group upgrade", command{
		Name: "start", Args: []string{"FROM", "TO"}, Short: "Begin an upgrade", Example: "home 1 2 --contexts 3 --migration to_v2",
		Long: "Begin the upgrade of a group from one version of its application to another.",
		Flags: func(fs *pflag.FlagSet) {
			fs.Uint64Var(&total, "contexts", 0, "how many contexts are upgraded")
			fs.StringVar(&method, "migration", "", "the method that migrates them")
		},
	}, func(_ *call, args []string) (op codec.GroupOp, err error) {
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

func newUpgradeProgress(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group upgrade", command{Name: "progress", Args: []string{"COMPLETED", "FAILED"}, Short: "Say how far the upgrade is", Example: "home 2 0",
		Long: "Say how many contexts have been upgraded, and how many could not. It exits 5 where no\nupgrade is in progress, or it has fewer contexts."},
		func(_ *call, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpUpgradeProgressed
			if op.Completed, err = count64("COMPLETED", args[0]); err == nil {
				op.Failed, err = count64("FAILED", args[1])
			}
			return op, err
		})
}

func newUpgradeDone(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group upgrade", command{Name: "done", Short: "Say that the upgrade is over", Example: "home",
		Long: "Say that the upgrade of a group is over. It exits 5 where none is in progress."},
		func(*call, []string) (codec.GroupOp, error) {
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
	d := &upgradeDoc{From: u.FromVersion, To: u.ToVersion, Migration: u.Migration.V, Begun: cli.UnixTime(u.InitiatedAt), By: u.InitiatedBy.String(),
		State: "in_progress", Total: u.Status.Total, Completed: u.Status.Completed, Failed: u.Status.Failed}
	if u.Status.Phase == codec.UpgradeCompleted {
		d.State, d.Ended = "completed", cli.UnixTime(u.Status.CompletedAt)
	}
	return d
}

// said says for people how far the upgrade is.
func (d *upgradeDoc) said() string {
	text := fmt.Sprintf("%d to %d", d.From, d.To)
	if d.Migration != "" {
		text += " by " + cli.Plain(d.Migration)
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

func newUpgradeShow(p *cli.Process) *cobra.Command {
	return onGroup(p, "group upgrade", command{
		Name: "show", Args: []string{"GROUP"}, Offline: true, Short: "Show the latest upgrade of a group", Long: "Show the latest upgrade of a group. It exits 4 if there was none.", Example: "home",
		Run: func(c *call) error {
			info, err := c.read.Show(c.Ctx, c.group)
			if err != nil {
				return err
			}
			if !info.Upgrade.Valid {
				return cli.Fail(cli.ExitNotFound, fmt.Errorf("group %s was never upgraded", c.group), "")
			}
			d := newUpgradeDoc(&info.Upgrade.V)
			return c.Emit(d, func(w io.Writer) { fmt.Fprintln(w, d.said()) })
		},
	})
}
