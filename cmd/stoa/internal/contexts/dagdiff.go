package contexts

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/namespace/naming"
)

func newDagDiff(p *cli.Process) *cobra.Command {
	var socket, other string
	return onContext(p, "dag", command{
		Name: "diff", Offline: true, Short: "Find the keys in which two states differ",
		Long: `Find the keys in which the state of a context differs from that of the same context at
another daemon (--peer), or from another context. Little is read and sent: what hashes
show to be equal is not looked at. Keys and values are shown by their SHA-256. It exits 5
if they differ.`,
		Example: "--peer b/stoa.sock\n--with " + cli.ExampleDigits,
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&socket, "peer", "", "the socket of another daemon")
			fs.StringVar(&other, "with", "", "another context, of the peer if there is one")
		},
		Check: func() error {
			if socket == "" && other == "" {
				return cli.Bad(errors.New("--peer or --with says what to compare with"), "")
			}
			return nil
		},
		Run: func(c *call) error {
			if socket == "" {
				with, err := c.otherContext(c.Find, other)
				if err != nil {
					return err
				}
				return c.emitDifferences(c.dag.Diff(c.Ctx, c.context, with))
			}
			peer, err := (&cli.DaemonFlags{Socket: socket, Flag: "--peer"}).Dial(p)
			if err != nil {
				return err
			}
			defer peer.Close()
			with, err := c.otherContext(cli.FinderOf(c.Ctx, peer), other)
			if err != nil {
				return err
			}
			theirs := peer.Dag()
			_, root, err := theirs.Heads(c.Ctx, with)
			if err != nil {
				return fmt.Errorf("--peer: %w", err)
			}
			return c.emitDifferences(c.dag.DiffWith(c.Ctx, c.context, theirs.Peer(with), root))
		},
	})
}

// otherContext returns the context that --with names where f looks, or the same one.
func (c *call) otherContext(f cli.Finder, text string) (codec.ContextID, error) {
	if text == "" {
		return c.context, nil
	}
	return cli.Find[codec.ContextID](f, "--with", text, naming.Query{Kind: naming.Context})
}

func (c *call) emitDifferences(all iter.Seq2[merkle.Difference, error]) error {
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
		d := differenceDoc{f.Key.String(), cli.UnlessZero(f.Local.V), cli.UnlessZero(f.Remote.V)}
		err := c.Emit(d, func(w io.Writer) {
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
		return cli.Refused(fmt.Errorf("%s in which the states differ", cli.Count(n, "key")), "")
	}
	c.Guide("the states are the same")
	return nil
}
