package main

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/namespace/naming"
)

func newDagDiff(p *process) *cobra.Command {
	var socket, other string
	return daemonCommand{
		about: aboutContext,
		name:  "diff", offline: true, short: "Find the keys in which two states differ",
		long: `Find the keys in which the state of a context differs from that of the same context at
another daemon (--peer), or from another context. Little is read and sent: what hashes
show to be equal is not looked at. Keys and values are shown by their SHA-256. It exits 5
if they differ.`,
		example: "--peer b/stoa.sock\n--with " + exampleDigits,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&socket, "peer", "", "the socket of another daemon")
			fs.StringVar(&other, "with", "", "another context, of the peer if there is one")
		},
		check: func() error {
			if socket == "" && other == "" {
				return bad(errors.New("--peer or --with says what to compare with"), "")
			}
			return nil
		},
		run: func(c *daemonCall) error {
			if socket == "" {
				with, err := c.otherContext(c.find, other)
				if err != nil {
					return err
				}
				return c.emitDifferences(c.dag.Diff(c.ctx, c.context, with))
			}
			peer, err := (&daemonFlags{socket: socket, flag: "--peer"}).dial(p)
			if err != nil {
				return err
			}
			defer peer.Close()
			with, err := c.otherContext(finderOf(c.ctx, peer), other)
			if err != nil {
				return err
			}
			theirs := peer.Dag()
			_, root, err := theirs.Heads(c.ctx, with)
			if err != nil {
				return fmt.Errorf("--peer: %w", err)
			}
			return c.emitDifferences(c.dag.DiffWith(c.ctx, c.context, theirs.Peer(with), root))
		},
	}.command(p, "dag")
}

// otherContext returns the context that --with names where f looks, or the same one.
func (c *daemonCall) otherContext(f finder, text string) (codec.ContextID, error) {
	if text == "" {
		return c.context, nil
	}
	return find[codec.ContextID](f, "--with", text, naming.Query{Kind: naming.Context})
}

func (c *daemonCall) emitDifferences(all iter.Seq2[merkle.Difference, error]) error {
	type differenceDoc struct {
		Key    string `json:"key_hash"`
		Local  string `json:"local,omitempty"`
		Remote string `json:"remote,omitempty"`
	}
	n := 0
	for f, err := range all {
		if err != nil {
			return err
		}
		n++
		d := differenceDoc{f.Key.String(), unlessZero(f.Local.V), unlessZero(f.Remote.V)}
		err := c.emit(d, func(w io.Writer) {
			side := "differs"
			switch {
			case !f.Remote.Valid:
				side = "only here"
			case !f.Local.Valid:
				side = "only there"
			}
			fmt.Fprintf(w, "%-10s  %s\n", side, d.Key)
		})
		if err != nil {
			return err
		}
	}
	if n > 0 {
		return refused(fmt.Errorf("%s in which the states differ", count(n, "key")), "")
	}
	if !c.json {
		fmt.Fprintln(c.stderr, "the states are the same")
	}
	return nil
}
