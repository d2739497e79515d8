package inspection

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/cmd/inspect/merod/carry"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/rocks"
)

// carryFlags are the flags of import that go with --from-merod.
type carryFlags struct {
	from         string
	blobs, left  string
	identities   []string
	noIdentities bool
}

// carryNames are those of its flags that want --from-merod.
var carryNames = []string{"blobs", "left", "identity", "no-identities"}

func (f *carryFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.from, "from-merod", "", "the home of a merod, or its database, whose records are taken over to a new store")
	fs.StringVar(&f.blobs, "blobs", "", "with --from-merod: the directory of content of blobs (default: blobs beside the database)")
	fs.StringVar(&f.left, "left", "", "with --from-merod: the file to write, as lines of JSON, what is left behind (default: NEW.left.jsonl)")
	fs.StringSliceVar(&f.identities, "identity", nil, "with --from-merod: the public key, in hex, of the identity that contexts get that have several")
	fs.BoolVar(&f.noIdentities, "no-identities", false, "with --from-merod: take over no private keys")
}

// leftLine is a line of the file of what is left behind: a row and why, or the id that a blob has
// now.
type leftLine struct {
	*merod.Row
	Left string  `json:"left,omitempty"`
	Blob *blobID `json:"blob,omitempty"`
}

type blobID struct {
	Merod codec.BlobID `json:"merod"`
	Stoa  codec.BlobID `json:"stoa"`
}

// carriedDoc is what import --from-merod prints.
type carriedDoc struct {
	*carry.Carried
	Store string `json:"store"`
	File  string `json:"left_file"`
}

// run takes over the records of a merod.
func (f *carryFlags) run(p *cli.Process, cmd *cobra.Command, source *sourceFlags, args []string) error {
	for _, name := range []string{"socket", "replace", "skip-damaged"} {
		if cmd.Flags().Changed(name) {
			return cli.Bad(errors.New("--from-merod and --"+name+" exclude each other"), "")
		}
	}
	if len(args) != 1 {
		return cli.Bad(errors.New("--from-merod wants the directory of a new store"), "as in: stoa import --from-merod ~/.calimero/node1 NEW")
	}
	o := carry.Options{NoIdentities: f.noIdentities}
	for _, text := range f.identities {
		b, err := cli.ParseHex("--identity", text)
		if err == nil && len(b) != len(codec.Identity{}) {
			err = cli.Bad(fmt.Errorf("--identity: %s of hex, not 32", cli.Count(len(b), "byte")), "")
		}
		if err != nil {
			return err
		}
		o.Identities = append(o.Identities, codec.Identity(b))
	}
	d, err := (&cli.MerodFlag{Dir: f.from}).Open()
	if err != nil {
		return err
	}
	if o.Blobs, err = f.content(d); err != nil {
		return err
	}
	dir := args[0]
	if f.left == "" {
		f.left = filepath.Clean(dir) + ".left.jsonl"
	}
	if _, err := os.Lstat(f.left); err == nil {
		return cli.Bad(fmt.Errorf("--left: %s is there already", f.left), "name a file that is not there")
	}
	var several carry.Several
	if err := carry.Unclear(cmd.Context(), d, o); errors.As(err, &several) {
		return cli.Refused(err, "--identity PUBLIC_KEY chooses, --no-identities takes none: `stoa scan ContextIdentity --merod "+f.from+"` lists them")
	} else if err != nil {
		return err
	}
	key, err := source.seal.Key(p.Credentials())
	if err != nil {
		return err
	}
	e, err := cli.OpenOffline(dir, rocks.Options{})
	if err != nil {
		return err
	}
	if !e.Recovery().Created {
		return errors.Join(cli.Refused(fmt.Errorf("%s is a store already", dir), "--from-merod makes a new one: name a directory that is not there"), e.Close())
	}
	to, _, err := cli.Unseal(e, key, slog.New(slog.DiscardHandler))
	if err != nil {
		return errors.Join(err, e.Close())
	}
	if err := startBuilding(p, dir, "import --from-merod "+f.from); err != nil {
		return errors.Join(err, to.Close())
	}
	o.Node, o.Spool = e.NodeID(), filepath.Join(dir, cli.SpoolName)
	var done *carry.Carried
	err = exportTo(p, f.left, func(w io.Writer) error {
		buf := bufio.NewWriter(w)
		lines := json.NewEncoder(buf)
		o.Left = func(r merod.Row, why string) error { return lines.Encode(leftLine{Row: &r, Left: why}) }
		o.BlobID = func(there, here codec.BlobID) error { return lines.Encode(leftLine{Blob: &blobID{there, here}}) }
		bar := rows(p, "import", 0)
		o.Progress = bar.add
		done, err = carry.Carry(cmd.Context(), d, to, o)
		bar.finish()
		return errors.Join(err, buf.Flush())
	})
	if err = endBuilding(dir, errors.Join(err, to.Close())); err != nil {
		return err
	}
	return p.Emit(carriedDoc{done, dir, f.left}, func(w io.Writer) { writeCarried(w, dir, f.left, done) })
}

// content is the directory of the content of blobs; "" if it was not named, and is not there.
func (f *carryFlags) content(d *merod.Database) (string, error) {
	dir := f.blobs
	if dir == "" {
		dir = filepath.Join(filepath.Dir(filepath.Clean(d.Where)), "blobs")
	}
	st, err := os.Stat(dir)
	switch {
	case err == nil && st.IsDir():
		return dir, nil
	case f.blobs == "" && errors.Is(err, os.ErrNotExist):
		return "", nil
	case err == nil:
		err = fmt.Errorf("%s is no directory", dir)
	}
	return "", cli.Bad(fmt.Errorf("--blobs: %w", err), "")
}

func writeCarried(w io.Writer, dir, left string, c *carry.Carried) {
	fmt.Fprintf(w, "in %s now: %s with %s of state and %s of this node's own, %s, %s, %s, %s, %s of Generic\n", dir,
		cli.Count(c.Contexts, "context"), cli.Count(c.State, "row"), cli.Count(c.Private, "row"), cli.Count(c.Identities, "identity"),
		cli.Count(c.Applications, "application"), cli.Count(c.Blobs, "blob"), cli.Count(c.Aliases, "alias"), cli.Count(c.Generic, "row"))
	if len(c.Left) == 0 {
		return
	}
	fmt.Fprintf(w, "left behind, row by row in %s:\n", left)
	type part struct{ column, reason string }
	var parts []part
	counts := map[part]uint64{}
	for _, l := range c.Left { // the file has the types too
		is := part{l.Column, l.Reason}
		if counts[is] == 0 {
			parts = append(parts, is)
		}
		counts[is] += l.Rows
	}
	t := cli.Table{Right: []bool{false, true, false}}
	for _, is := range parts {
		t.Add(cli.Plain(is.column), fmt.Sprint(counts[is]), is.reason)
	}
	t.Write(w, "  ")
}
