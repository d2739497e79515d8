package main

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

	"github.com/stoadb/stoa/dag"
)

func newDagSnapshot(p *process) *cobra.Command {
	var out string
	return daemonCommand{
		about: aboutContext,
		name:  "snapshot", offline: true, short: "Write what another node needs to join a context",
		long: `Write a snapshot of a context to a file: a base, the state at it, and the deltas after it.
` + "`stoa dag seed`" + ` takes it. The file is the parts of dag/README.md, each behind its length as
u32 LE; it appears under its name only when it is whole.`,
		example: "-o room.snapshot\n-o - | stoa dag seed room - --socket b/stoa.sock",
		flags:   func(fs *pflag.FlagSet) { fs.StringVarP(&out, "output", "o", "", "the file to write; - is stdout") },
		check: func() error {
			switch {
			case out == "":
				return bad(errors.New("-o names the file to write"), "-o - writes to stdout")
			case out == "-" && p.json:
				return bad(errors.New("--json needs a file for the snapshot: -o FILE"), "")
			}
			return nil
		},
		run: func(c *daemonCall) error {
			if out == "-" {
				w := bufio.NewWriter(c.stdout)
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
			return c.emit(d, func(w io.Writer) {
				fmt.Fprintf(w, "wrote %s: %s and %s\n", out, count(d.Rows, "key"), count(d.Deltas, "delta"))
			})
		},
	}.command(p, "dag")
}

// saveSnapshot writes a snapshot beside its place, and moves it there.
func (c *daemonCall) saveSnapshot(path string) (end *dag.SnapshotPart, err error) {
	f, err := createBeside(path)
	if err != nil {
		return nil, bad(fmt.Errorf("-o: %w", err), "")
	}
	w := bufio.NewWriter(f)
	end, err = c.writeSnapshot(w)
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return end, os.Rename(f.Name(), path)
}

// writeSnapshot writes the parts of a snapshot, each behind its length.
func (c *daemonCall) writeSnapshot(w io.Writer) (end *dag.SnapshotPart, err error) {
	for part, err := range c.dag.Snapshot(c.ctx, c.context, nil) {
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

func newDagSeed(p *process) *cobra.Command {
	var o dag.SeedOptions
	var sure confirmation
	return daemonCommand{
		about: aboutContext,
		name:  "seed", args: []string{"FILE"}, short: "Take over a context from a snapshot",
		long: `Take over a context from a snapshot, a file or - for stdin. The context must be there. Its
state is proved before it takes the place of what was there. A context that has deltas is
replaced only if it is flagged to be seeded again, or with --replace.`,
		example: "room.snapshot\nroom.snapshot --replace --yes",
		flags: func(fs *pflag.FlagSet) {
			sure.register(fs)
			fs.BoolVar(&o.Replace, "replace", false, "replace deltas that do not descend from the snapshot's base")
		},
		run: func(c *daemonCall) error {
			if o.Replace {
				if err := sure.confirm(c.ctx, c.process, c.aboutReplaced); err != nil {
					return err
				}
			}
			r := c.stdin
			if c.args[0] != "-" {
				f, err := os.Open(c.args[0])
				if err != nil {
					return bad(err, "")
				}
				defer f.Close()
				r = f
			}
			done, err := c.dag.Seed(c.ctx, c.context, snapshotParts(bufio.NewReader(r)), o)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return bad(fmt.Errorf("%s: the snapshot is not whole", c.args[0]), "")
			}
			if err != nil {
				return err
			}
			return c.emitSeeded(&done)
		},
	}.command(p, "dag")
}

// aboutReplaced says what the state of a snapshot takes the place of.
func (c *daemonCall) aboutReplaced() (string, error) {
	info, err := c.dag.Context(c.ctx, c.context)
	return fmt.Sprintf("replace the shared state and %s of the context %s by those of %s", count(info.Applied, "delta"), c.context, c.args[0]), err
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
				yield(nil, bad(fmt.Errorf("a part of %d bytes: this is no snapshot", n), ""))
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

func (c *daemonCall) emitSeeded(done *dag.Seeded) error {
	d := struct {
		Adopted  bool          `json:"adopted"`
		Base     string        `json:"base,omitempty"`
		Rows     uint64        `json:"rows"`
		Deltas   uint64        `json:"deltas"`
		Restored uint64        `json:"restored"`
		Refused  []*refusalDoc `json:"refused,omitempty"`
		Dropped  []string      `json:"dropped,omitempty"`
	}{done.Adopted, unlessZero(done.Base), done.Rows, done.Deltas, done.Restored, nil, texts(done.Dropped)}
	for i := range done.Refused {
		d.Refused = append(d.Refused, newRefusalDoc(&done.Refused[i]))
	}
	return c.emit(d, func(w io.Writer) {
		if done.Adopted {
			fmt.Fprintf(w, "seeded %s with %s and %s\n", c.context, count(d.Rows, "key"), count(d.Deltas, "delta"))
		} else {
			fmt.Fprintf(w, "kept %s: it begins as the snapshot does; %s of it are applied\n", c.context, count(d.Deltas, "delta"))
		}
		if d.Restored > 0 {
			fmt.Fprintf(w, "restored %s that had been here\n", count(d.Restored, "delta"))
		}
		for _, r := range d.Refused {
			fmt.Fprintf(w, "refused  %s  %s\n", r.ID, r.said())
		}
		for _, id := range d.Dropped {
			fmt.Fprintf(w, "dropped  %s\n", id)
		}
	})
}
