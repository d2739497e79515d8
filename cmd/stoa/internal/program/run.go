// Package program is the whole program as a function of its arguments, streams and environment.
// Start at commands.go, the table of packages that have commands.
package program

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// Run is the program: it runs the command that args name and returns the exit
// code. It writes errors to stderr, and nothing else than results to stdout.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return RunUntil(context.Background(), args, stdin, stdout, stderr, env)
}

// RunUntil is Run, which ends with ctx at the latest.
func RunUntil(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return RunWith(ctx, nil, args, stdin, stdout, stderr, env)
}

// RunWith is RunUntil of a program that serves one more engine; nil: none.
func RunWith(ctx context.Context, more *cli.Engine, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	p := &cli.Process{Ctx: ctx, Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: env, Engine: more}
	root := NewRoot(p)
	root.SetArgs(args)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		cli.CompleteNames(root, p) // only then: it goes through all commands
	}
	err := p.EndOffline(root.ExecuteContext(p.Ctx))
	if err == nil {
		return cli.ExitOK
	}
	p.JSON = p.JSON || slices.Contains(args, "--json") // a flag before it may be what is wrong
	f := cli.Explain(err)
	f.Print(p)
	return f.Code
}

// NewRoot returns the command that all others are below, of a process.
func NewRoot(p *cli.Process) *cobra.Command {
	root := &cobra.Command{
		Use:   "stoa",
		Short: "A storage daemon for local-first and peer-to-peer node software",
		Long: `Stoa keeps the records of a node (contexts, deltas, blobs, applications, groups)
in eleven RocksDB column families, and serves them over one Unix socket.

Data lies in $STOA_DIR or ./stoa-data, and the socket in it as stoa.sock.
Exit codes: 0 ok, 1 usage or bad input, 2 damage found, 3 cannot open or no
daemon, 4 not found, 5 refused or conflict. ` + cli.ConceptsHint + `.`,
		Example: `  stoa serve
  stoa namespace create --name home
  stoa scan GroupMember --json`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cli.NoSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.PersistentFlags().BoolVar(&p.JSON, "json", false, "print results and errors as JSON, one object a line")
	root.SetFlagErrorFunc(cli.FlagError)
	addCommands(root, p)
	root.SetHelpCommandGroupID("Offline")
	return root
}
