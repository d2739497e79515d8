package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// run is the program: it runs the command that args name and returns the exit
// code. It writes errors to stderr, and nothing else than results to stdout.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	p := &process{ctx: context.Background(), stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	root := newRoot(p)
	root.SetArgs(args)
	err := p.readOffline(root.ExecuteContext(p.ctx))
	if err == nil {
		return exitOK
	}
	p.json = p.json || slices.Contains(args, "--json") // a flag before it may be what is wrong
	f := explain(err)
	f.print(p)
	return f.code
}

func newRoot(p *process) *cobra.Command {
	root := &cobra.Command{
		Use:   "stoa",
		Short: "A storage daemon for local-first and peer-to-peer node software",
		Long: `Stoa keeps the records of a node (contexts, deltas, blobs, applications, groups)
in eleven RocksDB column families, and serves them over one Unix socket.

Data lies in $STOA_DIR or ./stoa-data, and the socket in it as stoa.sock.
Exit codes: 0 ok, 1 usage or bad input, 2 damage found, 3 cannot open or no
daemon, 4 not found, 5 refused or conflict. ` + conceptsHint + `.`,
		Example: `  stoa serve
  stoa namespace create --name home
  stoa scan GroupMember --json`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print results and errors as JSON, one object a line")
	root.SetFlagErrorFunc(flagError)
	addCommands(root, p)
	root.SetHelpCommandGroupID("Offline")
	return root
}

// exampleID stands for an id in examples.
const exampleID = "1111111111111111111111111111111111111111111111111111111111111111"

// zeroID is the scope of aliases that have none, and the id of no blob.
const zeroID = "0000000000000000000000000000000000000000000000000000000000000000"

// exampleApplication is an application of examples, as an argument.
const exampleApplication = `'{"application_id":"` + exampleID + `","bytecode":"` + zeroID + `","size":"6","source":"file",` +
	`"metadata":"","compiled":"` + zeroID + `","package":"org.example.chat","version":"1","signer_id":"","services":[]}'`

// exampleDigits stand for the first digits of an id in examples.
const exampleDigits = "2bf07165f318"
