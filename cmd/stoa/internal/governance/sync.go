package governance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

func newSync(p *cli.Process) *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use: "sync SOCKET_A SOCKET_B [NAMESPACE...]", Short: "Exchange all of a namespace between two daemons: ops, and the deltas of contexts",
		Long: `Exchange all that belongs to namespaces between two daemons, until both have the same: first
the ops of governance, as "stoa namespace sync" does, then the deltas of the contexts of their
groups, signed by who made them and sealed for members. A context that one of them has not begins
there. What a removed member has written since is set aside, on both. Deltas that nobody has
signed, of contexts that had some before a group got them, stay where they are. It exits 5 where
they can't be brought level. A daemon is named by its socket, or by the directory that has it.`,
		Example: "  stoa sync a/stoa.sock b/stoa.sock\n  stoa sync a/stoa.sock b/stoa.sock home --context room",
		Args:    twoSockets,
		RunE: between(p, func(ctx context.Context, sides []*rpc.Client, all []codec.GroupID, named bool) error {
			s := &syncing{Process: p, ctx: ctx, sides: sides}
			if err := s.choose(only); err != nil {
				return err
			}
			var failed error
			for _, ns := range all {
				failed = errors.Join(failed, s.namespace(ns, named))
			}
			return failed
		}),
	}
	cmd.Flags().StringArrayVar(&only, "context", nil, "exchange this CONTEXT only, a name or an id (default: all)")
	return cmd
}

// syncing is two daemons that are brought level.
type syncing struct {
	*cli.Process
	ctx   context.Context
	sides []*rpc.Client
	only  []codec.ContextID // none: all
}

// choose finds the contexts that are named.
func (s *syncing) choose(only []string) error {
	for _, text := range only {
		id, err := cli.Find[codec.ContextID](eitherFinds(s.ctx, s.sides), "--context", text, naming.Query{Kind: naming.Context})
		if err != nil {
			return err
		}
		s.only = append(s.only, id)
	}
	return nil
}

// namespace brings the two level in a namespace.
func (s *syncing) namespace(ns codec.GroupID, named bool) error {
	r, err := exchange(s.ctx, ns, s.sides, named)
	if err != nil {
		return err
	}
	contexts, err := s.contexts(ns)
	if err != nil {
		return err
	}
	type contextDoc struct {
		ID       string `json:"context_id"`
		ToA      int    `json:"to_a"` // deltas
		ToB      int    `json:"to_b"`
		AsideA   int    `json:"set_aside_at_a,omitempty"`
		AsideB   int    `json:"set_aside_at_b,omitempty"`
		Unsigned bool   `json:"unsigned,omitempty"`
		Fault    string `json:"error,omitempty"`
		name     string
	}
	d := struct {
		ID       string       `json:"namespace_id"`
		ToA      int          `json:"to_a"` // ops
		ToB      int          `json:"to_b"`
		Contexts []contextDoc `json:"contexts"`
	}{ID: ns.String(), ToA: r.ToA.Stored, ToB: r.ToB.Stored, Contexts: []contextDoc{}}
	var failed error
	for _, c := range contexts {
		doc := contextDoc{ID: c.ID.String(), name: string(c.Name)}
		x, err := s.context(ns, c.ID)
		switch {
		case errors.Is(err, content.ErrUnsigned):
			doc.Unsigned = true
		case err != nil:
			doc.Fault = err.Error()
			failed = errors.Join(failed, err)
		}
		doc.ToA, doc.ToB, doc.AsideA, doc.AsideB = x.ToA.Counts, x.ToB.Counts, x.ToA.SetAside, x.ToB.SetAside
		d.Contexts = append(d.Contexts, doc)
	}
	err = s.Emit(d, func(w io.Writer) {
		fmt.Fprintln(w, levelLine("", d.ID, "op", d.ToA, d.ToB, nameAt(s.ctx, s.sides, ns)))
		for _, c := range d.Contexts {
			line := levelLine("  ", c.ID, "delta", c.ToA, c.ToB, c.name)
			if n := c.AsideA + c.AsideB; n > 0 {
				line += fmt.Sprintf("\n    %s set aside, of who may not write any more: stoa dag held %s", cli.Count(n, "delta"), c.ID[:cli.ShortDigits])
			}
			if c.Unsigned {
				line += "\n    on one side its deltas have no signatures, and stay: stoa dag since --bytes and stoa dag add take them along; or, where the other side has them signed, stoa context delete there, and again"
			}
			fmt.Fprintln(w, line)
		}
	})
	return errors.Join(err, failed)
}

// contexts returns the contexts of the groups of a namespace that either side knows, and that are
// to be exchanged.
func (s *syncing) contexts(ns codec.GroupID) (all []namespace.ContextInfo, err error) {
	seen := map[codec.ContextID]bool{}
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
				if !seen[c.ID] && (len(s.only) == 0 || slices.Contains(s.only, c.ID)) {
					seen[c.ID] = true
					all = append(all, c)
				}
			}
		}
	}
	return all, nil
}

// context brings the two level in a context. Where one lacks a key that a member among them has, that
// one gives it.
func (s *syncing) context(ns codec.GroupID, id codec.ContextID) (content.SyncReport, error) {
	a, b := s.sides[0].Content(), s.sides[1].Content()
	r, err := content.Sync(s.ctx, id, a, b)
	if !errors.Is(err, content.ErrUneven) || r.ToA.Waits+r.ToB.Waits == 0 {
		return r, err
	}
	given := false
	for _, side := range s.sides {
		g, _, failed := side.Groups().Resolve(s.ctx, id)
		if failed != nil {
			continue
		}
		if _, failed := side.Groups().Rotate(s.ctx, g, false); failed == nil {
			given = true
		}
	}
	if !given {
		return r, err
	}
	if _, err := exchange(s.ctx, ns, s.sides, false); err != nil {
		return r, err
	}
	again, err := content.Sync(s.ctx, id, a, b)
	again.ToA.Counts += r.ToA.Counts
	again.ToB.Counts += r.ToB.Counts
	return again, err
}

// closeBelow closes the contexts of a group that somebody was removed from, and of those below it
// that this concerns.
func (c *call) closeBelow(ns, g codec.GroupID, recursive bool) (closed int, err error) {
	groups := []codec.GroupID{g}
	if recursive || ns == g {
		below, err := c.below(ns, g)
		if err != nil {
			return 0, err
		}
		groups = append(groups, below...)
	}
	return c.closeContexts(groups)
}

// closeContexts has this daemon vouch for what it holds of the contexts of groups, and so close them
// against who was removed. It returns how many there are.
func (c *call) closeContexts(groups []codec.GroupID) (closed int, err error) {
	signed := c.Client.Content()
	for _, g := range groups {
		for info, err := range c.groups.Contexts(c.Ctx, g) {
			if err != nil {
				return closed, err
			}
			heads, err := signed.Heads(c.Ctx, info.ID)
			if err != nil {
				return closed, err
			}
			if len(heads) == 0 {
				continue
			}
			switch _, err := signed.Vouch(c.Ctx, info.ID); {
			case errors.Is(err, namespace.ErrNotWriter):
			case err != nil:
				return closed, err
			default:
				closed++
			}
		}
	}
	return closed, nil
}
