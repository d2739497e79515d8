package governance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

func newSync(p *cli.Process) *cobra.Command {
	var f syncFlags
	cmd := &cobra.Command{
		Use: "sync SOCKET_A SOCKET_B [NAMESPACE...]", Short: "Exchange all of a namespace between two daemons: ops, and the deltas of contexts",
		Long: `Exchange all that belongs to namespaces between two daemons, until both have the same: first
the ops of governance, then the deltas of the contexts of their groups, signed by who made them
and sealed for members. A context that one of them has not begins there. What a removed member
has written since is set aside. Each gives the other what that one may read, as it proves by its
key of the namespace; a namespace that only one of them knows stays there, unless it is named.
Deltas that nobody has signed, of contexts that had some before a group got them, stay where they
are. With --blobs the blobs go too that commits have attached to contexts, and the code of their
applications. It exits 5 where they can't be brought level. What came before something went wrong stays, and
does not go again.

A daemon is named by its socket, or by the directory that has it; on a directory that no daemon
serves one runs until they are done. - is one that speaks on stdin and stdout, as "stoa sync serve"
and "stoa sync connect" do.`,
		Example: "  stoa sync a/stoa.sock b/stoa.sock\n  stoa sync a/stoa.sock b/stoa.sock home --context room\n  stoa sync a/stoa.sock b/stoa.sock --follow --every 5s",
		Args:    twoSockets,
		RunE: func(_ *cobra.Command, args []string) error {
			if slices.Contains(args[:2], "-") {
				return f.byPipe(p, args)
			}
			return between(p, func(ctx context.Context, sides []*rpc.Client, all []codec.GroupID, named bool) error {
				s := &syncing{Process: p, ctx: ctx, sides: sides, o: f.options(true)}
				if err := f.choose(&s.o, eitherFinds(ctx, sides), nil); err != nil {
					return err
				}
				if named {
					for _, ns := range all {
						if err := s.begin(ns); err != nil {
							return err
						}
					}
				}
				if named || !f.follow { // else what both have by then
					s.o.Namespaces = all
				}
				return f.repeat(ctx, p, s.run)
			})(nil, args)
		},
	}
	f.register(cmd.Flags())
	f.registerFollow(cmd.Flags())
	cmd.AddCommand(newSyncServe(p), newSyncConnect(p))
	return cmd
}

// syncFlags are the flags of all that begins a session.
type syncFlags struct {
	contexts []string
	anyone   bool
	blobs    cli.Size
	follow   bool
	every    time.Duration
}

// registerFollow adds the flags of those that may go on.
func (f *syncFlags) registerFollow(fs *pflag.FlagSet) {
	fs.BoolVar(&f.follow, "follow", false, "go on until Ctrl-C: exchange again, and say only what went; where a side is gone, wait for it")
	fs.DurationVar(&f.every, "every", time.Second, "with --follow, how long to wait before each exchange; one that finds nothing new takes some hundred bytes")
}

// repeat calls run once, or with --follow again and again.
func (f *syncFlags) repeat(ctx context.Context, p *cli.Process, run func(quiet bool) error) error {
	if f.every <= 0 {
		return cli.Bad(fmt.Errorf("--every: %s is no time to wait", f.every), "")
	}
	said := ""
	for quiet := false; ; quiet = true {
		err := run(quiet)
		switch {
		case !f.follow:
			return err
		case ctx.Err() != nil:
			return nil
		case err != nil && !quiet && cli.Explain(err).Code != cli.ExitRefused:
			return err
		case err == nil:
			said = ""
		case err.Error() != said: // else it was said
			said = err.Error()
			cli.Explain(err).Print(p)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.every):
		}
	}
}

func (f *syncFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.contexts, "context", nil, "exchange this CONTEXT only, a name or an id (default: all)")
	fs.BoolVar(&f.anyone, "anyone", false, "give the other what it asks for without a proof that it is a member: a copy, or one that you trust with ops, which are clear, and with what is sealed")
	fs.Var(&f.blobs, "blobs", "exchange blobs too: those that commits have attached to contexts (stoa dag commit --attach), and code of applications; =SIZE: up to that size")
	fs.Lookup("blobs").NoOptDefVal = cli.SizeText(blob.MaxSize)
}

// options returns those of a session that need no daemon.
func (f *syncFlags) options(initiator bool) rpc.SyncOptions {
	return rpc.SyncOptions{Initiator: initiator, Anyone: f.anyone, Blobs: uint64(f.blobs)}
}

// choose finds the contexts, and the namespaces, that are named.
func (f *syncFlags) choose(o *rpc.SyncOptions, find cli.Finder, namespaces []string) error {
	for _, text := range f.contexts {
		id, err := cli.Find[codec.ContextID](find, "--context", text, naming.Query{Kind: naming.Context})
		if err != nil {
			return err
		}
		o.Contexts = append(o.Contexts, id)
	}
	for _, text := range namespaces {
		id, err := cli.Find[codec.GroupID](find, "NAMESPACE", text, naming.Query{Kind: naming.Namespace})
		if err != nil {
			return err
		}
		o.Namespaces = append(o.Namespaces, id)
	}
	return nil
}

// syncing is two daemons that are brought level.
type syncing struct {
	*cli.Process
	ctx   context.Context
	sides []*rpc.Client
	o     rpc.SyncOptions
}

// begin has a side follow a namespace that the other has begun.
func (s *syncing) begin(ns codec.GroupID) error {
	a, b := s.sides[0].Namespaces(), s.sides[1].Namespaces()
	return errors.Join(followFrom(s.ctx, ns, a, b), followFrom(s.ctx, ns, b, a))
}

// run has the two have a session. Where one lacks a key that a member among them has, that one gives
// it, and they have another. Quiet, it says nothing of namespaces of which nothing went.
func (s *syncing) run(quiet bool) error {
	first, err := s.session()
	if err != nil {
		return err
	}
	given := false
	for _, r := range first {
		for i := range r.Namespaces {
			for _, c := range r.Namespaces[i].Contexts {
				given = given || c.Waits > 0 && s.giveKey(c.ID)
			}
		}
	}
	all := [][]*exchange.Report{first}
	if given {
		second, err := s.session()
		if err != nil {
			return err
		}
		all = append(all, second)
	}
	return s.say(all, quiet)
}

// giveKey has a member of the group of a context give its key to those who lack it.
func (s *syncing) giveKey(id codec.ContextID) (given bool) {
	for _, side := range s.sides {
		if g, _, err := side.Groups().Resolve(s.ctx, id); err == nil {
			_, err = side.Groups().Rotate(s.ctx, g, false)
			given = given || err == nil
		}
	}
	return given
}

// session carries the bytes of a session between the two, and returns what went to each.
func (s *syncing) session() ([]*exchange.Report, error) {
	var ends []*rpc.SyncSession
	for i, side := range s.sides {
		o := s.o
		o.Initiator = i == 0
		end, err := side.Sync(s.ctx, o)
		if err != nil {
			return nil, err
		}
		defer end.Close()
		ends = append(ends, end)
	}
	back, bar := make(chan struct{}), carried(s.Process)
	go func() {
		defer close(back)
		carry(ends[0], io.TeeReader(ends[1], bar))
	}()
	carry(ends[1], io.TeeReader(ends[0], bar))
	<-back
	_ = bar.Finish()
	var reports []*exchange.Report
	var failed []error
	for _, end := range ends {
		r, err := end.Report()
		reports, failed = append(reports, r), append(failed, err)
	}
	for i, err := range failed { // who ended it says why, and not who was told
		if err != nil && (!errors.Is(err, exchange.ErrPeer) || failed[1-i] == nil) {
			return nil, err
		}
	}
	return reports, failed[0]
}

// carried is a bar of the bytes that went.
func carried(p *cli.Process) *progressbar.ProgressBar {
	return p.Progress("sync", 0, progressbar.OptionShowBytes(true))
}

// carry carries what one side of a session sends to the other. Why it ends is in the report, which comes
// when all that it sends was read, also where the other has ended before.
func carry(to *rpc.SyncSession, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.CloseWrite()
	_, _ = io.Copy(io.Discard, from)
}

// say says what went, of all sessions, and returns an error where the two are not level.
func (s *syncing) say(all [][]*exchange.Report, quiet bool) error {
	type contextDoc struct {
		ID       string `json:"context_id"`
		ToA      int    `json:"to_a"` // deltas
		ToB      int    `json:"to_b"`
		AsideA   int    `json:"set_aside_at_a,omitempty"`
		AsideB   int    `json:"set_aside_at_b,omitempty"`
		Unsigned bool   `json:"unsigned,omitempty"`
		OneWay   bool   `json:"one_way,omitempty"` // one side may not read it
		Fault    string `json:"error,omitempty"`
		name     string
	}
	type namespaceDoc struct {
		ID       string       `json:"namespace_id"`
		ToA      int          `json:"to_a"` // ops
		ToB      int          `json:"to_b"`
		Strange  string       `json:"stranger,omitempty"` // which side has not proved to be a member
		Contexts []contextDoc `json:"contexts"`
		BlobsA   int          `json:"blobs_to_a,omitempty"`
		BlobsB   int          `json:"blobs_to_b,omitempty"`
		Missing  int          `json:"blobs_missing,omitempty"` // on one side, and not to be had of the other
		Fault    string       `json:"error,omitempty"`
	}
	went := func(c contextDoc) bool { return c.ToA+c.ToB+c.AsideA+c.AsideB > 0 }
	var failed error
	last := all[len(all)-1]
	for i := range last[0].Namespaces {
		n := &last[0].Namespaces[i]
		d := namespaceDoc{ID: n.ID.String(), Contexts: []contextDoc{}}
		names, err := s.contextNames(n.ID)
		if err != nil {
			return err
		}
		at := map[codec.ContextID]int{}
		for _, reports := range all {
			for side, r := range reports {
				of := namespaceOf(r, n.ID)
				if of == nil {
					continue
				}
				if side == 0 {
					d.ToA, d.BlobsA = d.ToA+of.Stored, d.BlobsA+of.Blobs.Stored
				} else {
					d.ToB, d.BlobsB = d.ToB+of.Stored, d.BlobsB+of.Blobs.Stored
				}
				for _, c := range of.Contexts {
					k, known := at[c.ID]
					if !known {
						k = len(d.Contexts)
						at[c.ID] = k
						d.Contexts = append(d.Contexts, contextDoc{ID: c.ID.String(), name: names[c.ID]})
					}
					doc := &d.Contexts[k]
					doc.Unsigned, doc.OneWay = doc.Unsigned || c.Unsigned, doc.OneWay || c.OneWay
					if side == 0 {
						doc.ToA, doc.AsideA = doc.ToA+c.Counts, doc.AsideA+c.SetAside
					} else {
						doc.ToB, doc.AsideB = doc.ToB+c.Counts, doc.AsideB+c.SetAside
					}
				}
			}
		}
		strange := ""
		for side, r := range last {
			of := namespaceOf(r, n.ID)
			if of == nil {
				continue
			}
			d.Missing += of.Blobs.Missing + of.Blobs.Large
			if of.Stranger { // to this side, the other is
				strange = []string{"B", "A"}[side]
			}
		}
		d.Strange = strange
		if err := uneven(last, n.ID, strange); err != nil {
			d.Fault = err.Error()
			failed = errors.Join(failed, err)
		}
		if quiet && d.ToA+d.ToB+d.BlobsA+d.BlobsB == 0 && !slices.ContainsFunc(d.Contexts, went) {
			continue
		}
		err = s.Emit(d, func(w io.Writer) {
			fmt.Fprintln(w, levelLine("", d.ID, "op", d.ToA, d.ToB, nameAt(s.ctx, s.sides, n.ID)))
			for _, c := range d.Contexts {
				if c.OneWay && !went(c) {
					continue // as in each session
				}
				line := levelLine("  ", c.ID, "delta", c.ToA, c.ToB, c.name)
				if n := c.AsideA + c.AsideB; n > 0 {
					line += fmt.Sprintf("\n    %s set aside, of who may not write any more: stoa dag held %s", cli.Count(n, "delta"), c.ID[:cli.ShortDigits])
				}
				if c.Unsigned {
					line += "\n    on one side its deltas have no signatures, and stay: stoa dag since --bytes and stoa dag add take them along; or, where the other side has them signed, stoa context delete there, and again"
				}
				fmt.Fprintln(w, line)
			}
			if d.BlobsA+d.BlobsB > 0 {
				fmt.Fprintf(w, "  %s to A, %s to B\n", cli.Count(d.BlobsA, "blob"), cli.Count(d.BlobsB, "blob"))
			}
			if d.Missing > 0 {
				fmt.Fprintln(w, missingLine(d.Missing))
			}
		})
		if err != nil {
			return err
		}
	}
	return failed
}

// missingLine says that blobs are missing.
func missingLine(n int) string {
	return "  " + cli.Count(n, "blob") + " that something names could not be had: larger than --blobs allows, or not there either"
}

func namespaceOf(r *exchange.Report, ns codec.GroupID) *exchange.NamespaceReport {
	i := slices.IndexFunc(r.Namespaces, func(n exchange.NamespaceReport) bool { return n.ID == ns })
	if i < 0 {
		return nil
	}
	return &r.Namespaces[i]
}

// uneven returns why two sides are not level in a namespace, nil if they are.
func uneven(reports []*exchange.Report, ns codec.GroupID, strange string) error {
	level, reason := true, ""
	waits, early := 0, 0
	for _, r := range reports {
		n := namespaceOf(r, ns)
		if n == nil {
			continue
		}
		level = level && n.Level
		reason = cmp.Or(reason, n.Reason)
		for i := range n.Contexts {
			c := &n.Contexts[i]
			level = level && c.Settled()
			waits, early = waits+c.Waits, early+c.Early
			reason = cmp.Or(reason, c.Reason)
		}
	}
	if level {
		return nil
	}
	hint := ""
	switch {
	case strange != "":
		reason = strange + " has not shown that it is a member, and was given nothing"
		hint = "who has joined is admitted first: stoa namespace admit; who was removed gets nothing more; to a copy, or one whom you trust, --anyone gives all"
	case reason != "":
		reason = "something was refused: " + reason
	case waits > 0:
		reason = "one side lacks a key of a group: it is no member, or a member who has the key gives it with the next op"
	case early > 0:
		reason = "the clocks of the two differ by more than 5 s"
	default:
		reason = "one has what the other does not take"
	}
	return cli.Fail(cli.ExitRefused, fmt.Errorf("namespace %s could not be brought level: %s", ns, reason), hint)
}

// contextNames returns what the contexts of a namespace are called, by either side.
func (s *syncing) contextNames(ns codec.GroupID) (map[codec.ContextID]string, error) {
	names := map[codec.ContextID]string{}
	for _, side := range s.sides {
		tree, err := side.Namespaces().Tree(s.ctx, ns)
		if errors.Is(err, namespace.ErrNoNamespace) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, g := range tree {
			for c, err := range side.Groups().Contexts(s.ctx, g.ID) {
				if err != nil {
					return nil, err
				}
				if c.Name != "" {
					names[c.ID] = string(c.Name)
				}
			}
		}
	}
	return names, nil
}
