package inspection

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/rocks"
)

func newSalvage(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "salvage SRC DST",
		Short: "Copy everything that can be read of a damaged directory into a new one",
		Long: `Copy every record that can be read of a damaged directory, which is not changed, into a
new one. The files are read one by one, block by block, so that it works where RocksDB
refuses the directory, and loses no more than the blocks that are damaged. Each loss is
listed, and it exits 2 if there is one. Where a newer state of a record is lost, an older
one may come back: ` + "`stoa verify --full`" + ` tells what does not fit any more. The copy has a new
node id.`,
		Example: "  stoa salvage /var/lib/stoa /var/lib/stoa-salvaged",
		Args:    cli.Exactly("SRC", "DST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, dst := args[0], args[1]
			if err := rocks.CheckStore(src); err != nil {
				return cli.CannotRead(src, err)
			}
			if failed := cli.Unfinished(dst, rocks.CheckWhole(dst)); failed != nil {
				return failed
			}
			if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
				return cli.Bad(fmt.Errorf("DST: there is something at %s", dst), "name a path where nothing is")
			}
			e, err := cli.OpenOffline(dst, rocks.Options{})
			if err != nil {
				return err
			}
			if err := startBuilding(p, dst, "salvage "+src+" "+dst); err != nil {
				return errors.Join(err, e.Close())
			}
			out, err := inspect.Salvage(cmd.Context(), src, e)
			if err == nil && out.SealRow != nil {
				err = e.SetSealRow(out.SealRow)
			}
			if err := endBuilding(dst, errors.Join(err, e.Close())); err != nil {
				return err
			}
			if part := rocks.CheckWhole(src); part != nil {
				out.Notes = append(out.Notes, part.Error())
			}
			if err := p.Emit(out, func(w io.Writer) { writeSalvaged(w, out, dst) }); err != nil {
				return err
			}
			if len(out.Losses) > 0 {
				return cli.Fail(cli.ExitDamage, fmt.Errorf("%s could not be saved", cli.Count(len(out.Losses), "part")), "`stoa verify --full "+dst+"` tells what does not fit any more")
			}
			return nil
		},
	}
}

func writeSalvaged(w io.Writer, s *inspect.Salvaged, dst string) {
	fmt.Fprintf(w, "%s from %s and %s copied to %s\n", cli.Count(s.Rows, "record"), cli.Count(s.Tables, "table"), cli.Count(s.Logs, "log"), dst)
	for _, note := range s.Notes {
		fmt.Fprintln(w, "note:", note)
	}
	for _, l := range s.Losses {
		fmt.Fprintln(w, "lost:", l)
	}
}
