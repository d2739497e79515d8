package inspection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/namespace"
)

func newRestore(p *cli.Process) *cobra.Command {
	var r restore
	cmd := &cobra.Command{
		Use:   "restore SRC DST",
		Short: "Put a copy of a store in its place, once it is verified",
		Long: `Copy a checkpoint to DST. The copy is made beside DST, verified with all checks, and
only then moved to its place: nothing is replaced by what is damaged. With --replace a
store that is at DST is moved aside, to DST.replaced. The copy is the same node; one that
is to run beside the first wants --new-node. In a namespace it signs nothing before it has
been synchronized with another daemon, or told to go on: stoa namespace resume.`,
		Example: "  stoa restore /backup/stoa-today /var/lib/stoa --replace",
		Args:    cli.Exactly("SRC", "DST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.src, r.dst = filepath.Clean(args[0]), filepath.Clean(args[1])
			aside, err := r.run(cmd.Context(), p)
			if err != nil {
				return err
			}
			err = p.Emit(struct {
				Dir   string `json:"dir"`
				Aside string `json:"aside,omitempty"`
			}{r.dst, aside}, func(w io.Writer) {
				fmt.Fprintf(w, "restored %s\n", r.dst)
				if aside != "" {
					fmt.Fprintf(w, "what was there is in %s\n", aside)
				}
			})
			if err == nil {
				p.Guide("serve it: stoa serve --dir "+cli.Quoted(r.dst),
					"what it has signed since the copy was made is on other nodes: it signs nothing before `stoa sync` with one of them")
			}
			return err
		},
	}
	r.seal.Register(cmd.Flags())
	cmd.Flags().BoolVar(&r.replace, "replace", false, "move aside what is at DST")
	cmd.Flags().BoolVar(&r.newNode, "new-node", false, "give the copy another node id")
	return cmd
}

// restore puts a copy of src in the place of dst.
type restore struct {
	src, dst         string
	replace, newNode bool
	seal             cli.SealFlags
}

// run returns where what was at dst is now.
func (r *restore) run(ctx context.Context, p *cli.Process) (aside string, err error) {
	if err := r.check(); err != nil {
		return "", err
	}
	made := r.dst + ".restoring"
	if err := os.RemoveAll(made); err != nil { // of one that was broken off
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}()
	if err := os.Mkdir(made, 0o700); err != nil {
		return "", err
	}
	if err := startBuilding(p, made, "restore "+r.src+" "+r.dst); err != nil {
		return "", err
	}
	if err := copyStore(r.src, made); err != nil {
		return "", fmt.Errorf("copy %s: %w", r.src, err)
	}
	if err := r.verify(ctx, p, made); err != nil {
		return "", err
	}
	if err := r.settle(made); err != nil {
		return "", err
	}
	if err := rocks.EndBuilding(made); err != nil {
		return "", err
	}
	return r.swap(made)
}

func (r *restore) check() error {
	if err := rocks.CheckStore(r.src); err != nil {
		return cli.CannotRead(r.src, err)
	}
	if err := rocks.CheckWhole(r.src); err != nil {
		return cli.Fail(cli.ExitOpen, err, cli.UnfinishedHint(r.src))
	}
	if err := rocks.CheckLock(r.src); err != nil {
		return cli.Fail(cli.ExitOpen, err, "restore copies checkpoints: `stoa checkpoint` makes one of what is served")
	}
	if err := rocks.CheckPlace(r.dst); err != nil {
		return err
	}
	_, err := os.Lstat(r.dst)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !r.replace:
		return cli.Refused(fmt.Errorf("there is something at %s", r.dst), "--replace moves it aside")
	}
	return rocks.CheckLock(r.dst)
}

// verify runs all checks on the copy. What it finds is printed.
func (r *restore) verify(ctx context.Context, p *cli.Process, dir string) error {
	var said bytes.Buffer
	quiet := *p
	quiet.Stdout = &said
	err := verifyApart(ctx, &quiet, &verifyFlags{full: true, building: true, sealed: &r.seal}, dir)
	if err != nil {
		_, werr := p.Stdout.Write(said.Bytes())
		return errors.Join(err, werr)
	}
	return nil
}

// settle shuts the copy down in order, as the daemon that the copy was made beside has
// not: what is in its log goes into tables. It signs nothing before it has learned what it
// has signed since.
func (r *restore) settle(made string) error {
	e, err := cli.OpenOffline(made, rocks.Options{MustExist: true, NewNode: r.newNode, Building: true})
	if err != nil {
		return err
	}
	if _, err := namespace.MarkRestored(e, time.Now()); err != nil {
		return errors.Join(err, e.Close())
	}
	return e.Close()
}

// swap moves the copy to its place, and what is there aside.
func (r *restore) swap(made string) (aside string, err error) {
	if _, err := os.Lstat(r.dst); err == nil {
		aside = r.dst + ".replaced"
		for n := 2; ; n++ {
			if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
				break
			}
			aside = fmt.Sprintf("%s.replaced-%d", r.dst, n)
		}
		if err := os.Rename(r.dst, aside); err != nil {
			return "", err
		}
	}
	if err := os.Rename(made, r.dst); err != nil {
		if aside != "" {
			err = errors.Join(err, os.Rename(aside, r.dst))
		}
		return "", err
	}
	return aside, syncPath(filepath.Dir(r.dst))
}

// copyStore copies the files of a store into dst, and returns when they are on disk. What
// a daemon keeps beside them is left out. CURRENT comes last: before it is there nothing
// takes a part of the files for a damaged database.
func copyStore(src, dst string) error {
	entries, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return e.Name() == "CURRENT" }); i >= 0 {
		entries = slices.Concat(entries[:i], entries[i+1:], entries[i:i+1])
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == "LOCK" || strings.HasPrefix(e.Name(), cli.SocketName) {
			continue
		}
		if err := copyFile(filepath.Join(src, e.Name()), filepath.Join(dst, e.Name())); err != nil {
			return err
		}
	}
	return syncPath(dst)
}

func copyFile(src, dst string) (err error) {
	from, err := os.Open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// syncPath returns when a directory's entries are on disk.
func syncPath(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
