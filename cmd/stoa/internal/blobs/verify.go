package blobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

func newVerify(p *cli.Process) *cobra.Command {
	var from cli.ReadFlags
	var all bool
	var v verification
	cmd := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Prove that blobs are whole, or list what is damaged",
		Long: `Read the content of a blob, or of all blobs if none is named, and list what is damaged.
--repair repairs what can be repaired from what is there: a manifest that is missing or
wrong is written anew where all of the content is there, and chunks beyond the last, and
remains of uploads, are removed. A blob of which content is lost is made good by
` + "`stoa blob put`" + ` of the file. It exits 2 if a blob stays damaged.`,
		Example: "  stoa blob verify\n  stoa blob verify --repair",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return cli.Bad(errors.New("--all goes without an ID"), "")
			}
			v.Process, v.w = p, bufio.NewWriter(p.Stdout)
			ctx, forget := cli.Interruptible()
			defer forget()
			client, err := from.Dial(p)
			if err != nil {
				return err
			}
			defer client.Close()
			if len(args) > 0 {
				if v.o.ID, err = cli.Find[codec.BlobID](cli.FinderOf(ctx, client), "ID", args[0], naming.Query{Kind: naming.Blob}); err != nil {
					return err
				}
			}
			return v.run(ctx, client)
		},
	}
	from.Register(cmd.Flags())
	cmd.Flags().BoolVar(&v.o.Repair, "repair", false, "repair what can be repaired")
	cmd.Flags().BoolVar(&all, "all", false, "all blobs, as without an ID")
	return cmd
}

// verification is a verification of blobs.
type verification struct {
	*cli.Process
	o blob.VerifyOptions
	w *bufio.Writer
}

func (v *verification) run(ctx context.Context, client *rpc.Client) error {
	verdict, err := client.BlobVerify(ctx, v.o, v.damage)
	if err != nil {
		return errors.Join(err, v.w.Flush())
	}
	left := verdict.Damaged - verdict.Repaired
	if v.JSON {
		err = cli.WriteJSON(v.w, struct {
			Summary verdictDoc `json:"summary"`
		}{verdictDoc(verdict)})
	} else {
		_, err = fmt.Fprintf(v.w, "%s read, %s: %d damaged", cli.Count(verdict.Blobs, "blob"), cli.SizeText(verdict.Bytes), verdict.Damaged)
		if verdict.Repaired > 0 {
			fmt.Fprintf(v.w, ", %d of them repaired", verdict.Repaired)
		}
		fmt.Fprintln(v.w)
	}
	if err := errors.Join(err, v.w.Flush()); err != nil || left == 0 {
		return err
	}
	hint := "`stoa blob verify --repair` repairs what can be repaired"
	if v.o.Repair {
		hint = "`stoa blob put FILE` of what they were made of makes them good"
	}
	return cli.Fail(cli.ExitDamage, errors.New(cli.Count(left, "damaged blob")), hint)
}

// verdictDoc is what a verification has come to, as JSON.
type verdictDoc struct {
	Blobs    uint64 `json:"blobs"`
	Bytes    uint64 `json:"bytes"`
	Damaged  uint64 `json:"damaged"`
	Repaired uint64 `json:"repaired"`
}

// damageDoc is what is damaged of a blob, as JSON.
type damageDoc struct {
	ID       string     `json:"blob_id"`
	Faults   []faultDoc `json:"faults"`
	More     uint32     `json:"more,omitempty"`
	Remedy   string     `json:"remedy"`
	Repaired bool       `json:"repaired"`
}

type faultDoc struct {
	Code   string       `json:"code"`
	Key    cli.HexBytes `json:"key"`
	Reason string       `json:"reason"`
}

// damage tells of a damaged blob.
func (v *verification) damage(d blob.Damage) error {
	remedy, text := remedyOf(d)
	if v.JSON {
		doc := damageDoc{ID: d.ID.String(), More: d.More, Remedy: remedy, Repaired: d.Repaired}
		for _, f := range d.Faults {
			doc.Faults = append(doc.Faults, faultDoc{f.Code, f.Key, f.Reason})
		}
		return cli.WriteJSON(v.w, struct {
			Damage damageDoc `json:"damage"`
		}{doc})
	}
	for _, f := range d.Faults {
		fmt.Fprintf(v.w, "%s  %s  %s\n", f.Code, d.ID, f.Reason)
	}
	if d.More > 0 {
		fmt.Fprintf(v.w, "%s  %s  and %s more\n", d.Faults[0].Code, d.ID, cli.Count(uint64(d.More), "fault"))
	}
	_, err := fmt.Fprintln(v.w, "  "+text)
	return err
}

// remedyOf names what makes a blob good, and says what was done or is to be done.
func remedyOf(d blob.Damage) (name, text string) {
	switch {
	case d.Remedy == blob.Repair && d.Repaired:
		return "repair", "repaired"
	case d.Remedy == blob.Repair:
		return "repair", "`stoa blob verify --repair` repairs it"
	case d.Remedy == blob.Remove && d.Repaired:
		return "remove", "removed"
	case d.Remedy == blob.Remove:
		return "remove", "`stoa blob verify --repair` removes them"
	case d.Remedy == blob.Upload:
		return "put", "content is lost: `stoa blob put FILE` writes it anew, `stoa blob delete` removes what is left"
	}
	return "unknown", "this stoa does not know what makes it good"
}
