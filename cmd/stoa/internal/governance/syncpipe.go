package governance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

func newSyncServe(p *cli.Process) *cobra.Command {
	var f pipeFlags
	cmd := &cobra.Command{
		Use: "serve [NAMESPACE...]", Short: "Speak for a daemon on stdin and stdout, to one that connects",
		Long: `Have the daemon exchange what "stoa sync" does with one that connects: bytes come on stdin and go
to stdout, and what went is said on stderr. It is what runs at the far end of a pipe.`,
		Example: "  stoa sync connect -- ssh host stoa sync serve --dir /var/lib/stoa",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return f.once(p, args, false, stdio(p)) },
	}
	f.register(cmd)
	return cmd
}

func newSyncConnect(p *cli.Process) *cobra.Command {
	var f pipeFlags
	var namespaces []string
	cmd := &cobra.Command{
		Use: "connect [-- COMMAND [ARG...]]", Short: "Have a daemon exchange with one at the other end of a pipe, or of a command",
		Long: `Have the daemon exchange what "stoa sync" does with the one that a command speaks for on its stdin
and stdout, as "ssh host stoa sync serve" does; without a command, with one that speaks on stdin and
stdout here. What went is said on stderr. It exits 5 where they can't be brought level, and 3 where
the other side is gone.`,
		Example: "  stoa sync connect -- ssh host stoa sync serve\n  stoa sync connect --namespace home -- ssh host stoa sync serve",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if f.follow {
					return cli.Bad(errors.New("--follow: a stream has one session"), "give the command that speaks at the other end: stoa sync connect --follow -- COMMAND")
				}
				return f.once(p, namespaces, true, stdio(p))
			}
			return f.connect(p, namespaces, args)
		},
	}
	f.register(cmd)
	f.registerFollow(cmd.Flags())
	cmd.Flags().StringArrayVar(&namespaces, "namespace", nil, "exchange this NAMESPACE only, a name or an id (default: all that both have)")
	return cmd
}

// pipeFlags are the flags of a daemon at the end of a pipe.
type pipeFlags struct {
	syncFlags
	daemon cli.DaemonFlags
}

func (f *pipeFlags) register(cmd *cobra.Command) {
	f.syncFlags.register(cmd.Flags())
	f.daemon.Register(cmd.Flags())
}

// pipe is where a session's bytes come from, and go to.
type pipe struct {
	io.Reader
	io.Writer
	hangUp func()
}

func stdio(p *cli.Process) pipe { return pipe{p.Stdin, p.Stdout, func() {}} }

// byPipe is "stoa sync" of which one side is -.
func (f *syncFlags) byPipe(p *cli.Process, args []string) error {
	if args[0] == args[1] {
		return cli.Bad(errors.New("one of A and B may be -, not both"), "the other is a socket, or a directory that has one")
	}
	one := pipeFlags{syncFlags: *f}
	one.daemon.Socket, one.daemon.Flag = args[0], "SOCKET_A"
	if args[0] == "-" {
		one.daemon.Socket, one.daemon.Flag = args[1], "SOCKET_B"
	}
	if f.follow {
		return cli.Bad(errors.New("--follow: a stream has one session"), "stoa sync connect --follow -- COMMAND begins one after the other")
	}
	return one.once(p, args[2:], true, stdio(p))
}

// connect speaks with what a command says.
func (f *pipeFlags) connect(p *cli.Process, namespaces, words []string) error {
	ctx, forget := cli.Interruptible()
	defer forget()
	path, err := cli.Program(words[0])
	if err != nil {
		return err
	}
	client, done, err := f.daemon.DialOrServe(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	return f.repeat(ctx, p, func(quiet bool) error {
		cmd := p.Child(ctx, path, words, 0)
		cmd.Stdin, cmd.Stdout = nil, nil
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return cli.Fail(cli.ExitNoExec, err, "")
		}
		err = f.speak(ctx, p, client, namespaces, true, quiet, pipe{out, in, func() { _ = in.Close() }})
		if err != nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		if ended := cmd.Wait(); err != nil && ended != nil {
			err = fmt.Errorf("%w (the command: %w)", err, ended)
		}
		return err
	})
}

// once has the daemon have a session over a pipe.
func (f *pipeFlags) once(p *cli.Process, namespaces []string, initiator bool, by pipe) error {
	ctx, forget := cli.Interruptible()
	defer forget()
	client, done, err := f.daemon.DialOrServe(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	return f.speak(ctx, p, client, namespaces, initiator, false, by)
}

// speak has a daemon have a session over a pipe. Quiet, it says nothing of namespaces of which nothing
// went.
func (f *pipeFlags) speak(ctx context.Context, p *cli.Process, client *rpc.Client, namespaces []string, initiator, quiet bool, by pipe) error {
	o := f.options(initiator)
	find := func(q naming.Query) (naming.Answer, error) { return client.Find(ctx, q) }
	if err := f.choose(&o, find, namespaces); err != nil {
		return err
	}
	for _, ns := range o.Namespaces { // else nothing of it is taken where it has not begun
		if err := client.Namespaces().FollowNamespace(ctx, ns); err != nil {
			return err
		}
	}
	end, err := client.Sync(ctx, o)
	if err != nil {
		return err
	}
	defer end.Close()
	bar := carried(p)
	go carry(end, io.TeeReader(by.Reader, bar)) // it ends with the stream, or with this process
	if _, written := io.Copy(by.Writer, io.TeeReader(end, bar)); written != nil {
		_, _ = io.Copy(io.Discard, end) // what came before, or does yet, says more
	}
	_ = bar.Finish()
	by.hangUp()
	r, err := end.Report()
	if err != nil {
		return err
	}
	return sayOne(ctx, p, client, r, quiet)
}

// sayOne says on stderr what went, to here and from here.
func sayOne(ctx context.Context, p *cli.Process, client *rpc.Client, r *exchange.Report, quiet bool) error {
	type contextDoc struct {
		ID     string `json:"context_id"`
		Here   int    `json:"here"` // deltas
		Away   int    `json:"away"`
		Aside  int    `json:"set_aside,omitempty"`
		OneWay bool   `json:"one_way,omitempty"` // one side may not read it
	}
	type namespaceDoc struct {
		ID       string       `json:"namespace_id"`
		Here     int          `json:"here"` // ops
		Away     int          `json:"away"`
		Contexts []contextDoc `json:"contexts"`
		Blobs    int          `json:"blobs_here,omitempty"`
		Sent     int          `json:"blobs_away,omitempty"`
		Missing  int          `json:"blobs_missing,omitempty"`
	}
	went := func(c contextDoc) bool { return c.Here+c.Away+c.Aside > 0 }
	var failed error
	for i := range r.Namespaces {
		n := &r.Namespaces[i]
		d := namespaceDoc{n.ID.String(), n.Stored, n.Sent, []contextDoc{}, n.Blobs.Stored, n.Blobs.Sent, n.Blobs.Missing + n.Blobs.Large}
		for _, c := range n.Contexts {
			d.Contexts = append(d.Contexts, contextDoc{c.ID.String(), c.Counts, c.Sent, c.SetAside, c.OneWay})
		}
		switch {
		case quiet && d.Here+d.Away+d.Blobs+d.Sent == 0 && !slices.ContainsFunc(d.Contexts, went): // as before
		case p.JSON:
			if err := json.NewEncoder(p.Stderr).Encode(d); err != nil {
				return err
			}
		default:
			fmt.Fprintf(p.Stderr, "%s  %s here, %s away  %s\n", d.ID, cli.Count(d.Here, "op"), cli.Count(d.Away, "op"), cli.Plain(nameAt(ctx, []*rpc.Client{client}, n.ID)))
			for _, c := range d.Contexts {
				if c.OneWay && !went(c) {
					continue // as in each session
				}
				fmt.Fprintf(p.Stderr, "  %s  %s here, %s away\n", c.ID, cli.Count(c.Here, "delta"), cli.Count(c.Away, "delta"))
				if c.Aside > 0 {
					fmt.Fprintf(p.Stderr, "    %s set aside, of who may not write any more: stoa dag held %s\n", cli.Count(c.Aside, "delta"), c.ID[:cli.ShortDigits])
				}
			}
			if d.Blobs+d.Sent > 0 {
				fmt.Fprintf(p.Stderr, "  %s here, %s away\n", cli.Count(d.Blobs, "blob"), cli.Count(d.Sent, "blob"))
			}
			if d.Missing > 0 {
				fmt.Fprintln(p.Stderr, missingLine(d.Missing))
			}
		}
		strange := ""
		if n.Stranger {
			strange = "the other side"
		}
		failed = errors.Join(failed, uneven([]*exchange.Report{r}, n.ID, strange))
	}
	if len(r.Namespaces) == 0 && !quiet {
		p.Guide("the two have no namespace in common: who is new joins one first (stoa namespace join), or names it")
	}
	return failed
}
