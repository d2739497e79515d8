package contexts

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/namespace/content"
)

func newDagHeld(p *cli.Process) *cobra.Command {
	return onContext(p, "dag", command{
		Name: "held", Offline: true, Short: "List the deltas of a context that are set aside",
		Long: `List the deltas of a context that are set aside, the oldest first: their authors may not write
there any more, as far as is known here, and nobody who may has built on them. "stoa dag adopt"
has them count.`,
		Run: func(c *call) error {
			held, err := c.Client.Content().Held(c.Ctx, c.context)
			if err != nil {
				return err
			}
			known, err := c.names()
			if err != nil {
				return err
			}
			return cli.List(c.Process, "delta", func(yield func(content.Held, error) bool) {
				for _, h := range held {
					if !yield(h, nil) {
						return
					}
				}
			}, func(h content.Held) (any, error) {
				return struct {
					ID     string `json:"envelope_id"`
					Delta  string `json:"delta_id"`
					Author string `json:"author"`
					Around string `json:"at"`
					Size   int    `json:"size"` // bytes
				}{h.ID.String(), h.Delta.String(), h.Author.String(), cli.Instant(hlc.NTP64(h.Time).Time()), h.Size}, nil
			}, func(w io.Writer, h content.Held) {
				fmt.Fprintf(w, "%s  by %s, %s, %s\n", h.ID, known.Of(h.Author.String()), cli.Instant(hlc.NTP64(h.Time).Time()), cli.Count(h.Size, "byte"))
			})
		},
	})
}

func newDagAdopt(p *cli.Process) *cobra.Command {
	var which []string
	var all bool
	return onContext(p, "dag", command{
		Name: "adopt", Short: "Have deltas count that are set aside",
		Long: `Have deltas count that "stoa dag held" lists, with those that they stand on, by a delta of this
daemon on top of them that does nothing else.`,
		Example: "--all",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringArrayVar(&which, "envelope", nil, "one that is set aside, by the first digits of its id")
			fs.BoolVar(&all, "all", false, "all that are")
		},
		Check: func() error {
			if len(which) == 0 && !all {
				return cli.Bad(errors.New("dag adopt: nothing to adopt"), "name what is to count with --envelope, or say --all")
			}
			return nil
		},
		Run: func(c *call) error {
			held, err := c.Client.Content().Held(c.Ctx, c.context)
			if err != nil {
				return err
			}
			ids, err := heldArgs(held, which, all)
			if err != nil {
				return err
			}
			done, err := c.Client.Content().Adopt(c.Ctx, c.context, ids)
			if err != nil {
				return err
			}
			return c.Emit(struct {
				Adopted []string `json:"adopted"`
				Delta   string   `json:"delta_id"`
				Root    string   `json:"root_hash"`
			}{cli.Texts(ids), done.Delta.String(), done.Root.String()}, func(w io.Writer) {
				fmt.Fprintf(w, "%s adopted by delta %s\n", cli.Count(len(ids), "delta"), done.Delta)
			})
		},
	})
}

// heldArgs returns the envelopes that are named by their first digits, of those that are set aside.
func heldArgs(held []content.Held, which []string, all bool) (ids []codec.EnvelopeID, err error) {
	if all {
		for _, h := range held {
			ids = append(ids, h.ID)
		}
	}
	for _, text := range which {
		var found []codec.EnvelopeID
		for _, h := range held {
			if text != "" && strings.HasPrefix(h.ID.String(), strings.ToLower(text)) {
				found = append(found, h.ID)
			}
		}
		if len(found) > 1 {
			return nil, cli.Bad(fmt.Errorf("--envelope %s: %d that are set aside begin so", cli.Plain(text), len(found)), "give more digits")
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: --envelope: no envelope here is called %q, or has an id that begins so, of those that are set aside", content.ErrNoEnvelope, text)
		}
		ids = append(ids, found[0])
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: nothing is set aside", content.ErrNoEnvelope)
	}
	return ids, nil
}
