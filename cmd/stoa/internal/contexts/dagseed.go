package contexts

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/dag"
)

func newDagSnapshot(p *cli.Process) *cobra.Command {
	var out string
	return onContext(p, "dag", command{
		Name: "snapshot", Offline: true, Short: "Write what another node needs to join a context",
		Long: `Write a snapshot of a context to a file: a base, the state at it, and the deltas after it.
` + "`stoa dag seed`" + ` takes it. The file is the parts of dag/README.md, each behind its length as
u32 LE; it appears under its name only when it is whole.`,
		Example: "-o room.snapshot\n-o - | stoa dag seed room - --socket b/stoa.sock",
		Flags:   func(fs *pflag.FlagSet) { fs.StringVarP(&out, "output", "o", "", "the file to write; - is stdout") },
		Check: func() error {
			switch {
			case out == "":
				return cli.Bad(errors.New("-o names the file to write"), "-o - writes to stdout")
			case out == "-" && p.JSON:
				return cli.Bad(errors.New("--json needs a file for the snapshot: -o FILE"), "")
			}
			return nil
		},
		Run: func(c *call) error {
			if out == "-" {
				w := bufio.NewWriter(c.Stdout)
				_, err := c.writeSnapshot(w)
				return errors.Join(err, w.Flush())
			}
			end, err := c.saveSnapshot(out)
			if err != nil {
				return err
			}
			d := struct {
				File   string `json:"file"`
				Rows   uint64 `json:"rows"`
				Deltas uint64 `json:"deltas"`
			}{out, end.RowCount, end.DeltaCount}
			return c.Emit(d, func(w io.Writer) {
				fmt.Fprintf(w, "wrote %s: %s and %s\n", out, cli.Count(d.Rows, "key"), cli.Count(d.Deltas, "delta"))
			})
		},
	})
}

// saveSnapshot writes a snapshot beside its place, and moves it there.
func (c *call) saveSnapshot(path string) (end *dag.SnapshotPart, err error) {
	f, err := cli.CreateBeside(path)
	if err != nil {
		return nil, cli.Bad(fmt.Errorf("-o: %w", err), "")
	}
	w := bufio.NewWriter(f)
	end, err = c.writeSnapshot(w)
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return end, os.Rename(f.Name(), path)
}

// writeSnapshot writes the parts of a snapshot, each behind its length.
func (c *call) writeSnapshot(w io.Writer) (end *dag.SnapshotPart, err error) {
	for part, err := range c.dag.Snapshot(c.Ctx, c.context, nil) {
		if err != nil {
			return nil, err
		}
		b, err := part.AppendBinary(make([]byte, 4))
		if err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		end = part
	}
	return end, nil
}

func newDagSeed(p *cli.Process) *cobra.Command {
	var o dag.SeedOptions
	var sure cli.Confirmation
	return onContext(p, "dag", command{
		Name: "seed", Args: []string{"FILE"}, Short: "Take over a context from a snapshot",
		Long: `Take over a context from a snapshot, a file or - for stdin. The context must be there. Its
state is proved before it takes the place of what was there. A context that has deltas is
replaced only if it is flagged to be seeded again, or with --replace. A context of a group, once
its deltas are signed, takes no snapshot: ` + "`stoa sync`" + ` brings it.`,
		Example: "room.snapshot\nroom.snapshot --replace --yes",
		Flags: func(fs *pflag.FlagSet) {
			sure.Register(fs)
			fs.BoolVar(&o.Replace, "replace", false, "replace deltas that do not descend from the snapshot's base")
		},
		Run: func(c *call) error {
			if o.Replace {
				if err := sure.Confirm(c.Ctx, c.Process, c.aboutReplaced); err != nil {
					return err
				}
			}
			r := c.Stdin
			if c.Args[0] != "-" {
				f, err := os.Open(c.Args[0])
				if err != nil {
					return cli.Bad(err, "")
				}
				defer f.Close()
				r = f
			}
			done, err := c.dag.Seed(c.Ctx, c.context, snapshotParts(bufio.NewReader(r)), o)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return cli.Bad(fmt.Errorf("%s: the snapshot is not whole", c.Args[0]), "")
			}
			if err != nil {
				return err
			}
			return c.emitSeeded(&done)
		},
	})
}

// aboutReplaced says what the state of a snapshot takes the place of.
func (c *call) aboutReplaced() (string, error) {
	info, err := c.dag.Context(c.Ctx, c.context)
	return fmt.Sprintf("replace the shared state and %s of the context %s by those of %s", cli.Count(info.Applied, "delta"), c.context, c.Args[0]), err
}

// snapshotParts yields the parts that writeSnapshot has written.
func snapshotParts(r io.Reader) iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		for {
			var size [4]byte
			if _, err := io.ReadFull(r, size[:]); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				yield(nil, err)
				return
			}
			n := binary.LittleEndian.Uint32(size[:])
			if n > dag.MaxPart {
				yield(nil, cli.Bad(fmt.Errorf("a part of %d bytes: this is no snapshot", n), ""))
				return
			}
			b := make([]byte, n)
			_, err := io.ReadFull(r, b)
			var part *dag.SnapshotPart
			if err == nil {
				part, err = dag.ParseSnapshotPart(b)
			} else if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}

func (c *call) emitSeeded(done *dag.Seeded) error {
	d := struct {
		Adopted  bool          `json:"adopted"`
		Base     string        `json:"base,omitempty"`
		Rows     uint64        `json:"rows"`
		Deltas   uint64        `json:"deltas"`
		Restored uint64        `json:"restored"`
		Refused  []*refusalDoc `json:"refused,omitempty"`
		Dropped  []string      `json:"dropped,omitempty"`
	}{done.Adopted, cli.UnlessZero(done.Base), done.Rows, done.Deltas, done.Restored, nil, cli.Texts(done.Dropped)}
	for i := range done.Refused {
		d.Refused = append(d.Refused, newRefusalDoc(&done.Refused[i]))
	}
	return c.Emit(d, func(w io.Writer) {
		if done.Adopted {
			fmt.Fprintf(w, "seeded %s with %s and %s\n", c.context, cli.Count(d.Rows, "key"), cli.Count(d.Deltas, "delta"))
		} else {
			fmt.Fprintf(w, "kept %s: it begins as the snapshot does; %s of it are applied\n", c.context, cli.Count(d.Deltas, "delta"))
		}
		if d.Restored > 0 {
			fmt.Fprintf(w, "restored %s that had been here\n", cli.Count(d.Restored, "delta"))
		}
		for _, r := range d.Refused {
			fmt.Fprintf(w, "refused  %s  %s\n", r.ID, r.said())
		}
		for _, id := range d.Dropped {
			fmt.Fprintf(w, "dropped  %s\n", id)
		}
	})
}
