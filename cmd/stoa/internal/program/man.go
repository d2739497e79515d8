package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/cmd/stoa/internal/records"
)

func newMan(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write the manual pages, one for each command, into a directory, which is made if it is
not there. Pages that are there are replaced.`,
		Example: "  stoa man /usr/local/share/man/man1\n  stoa man man1 && man -l man1/stoa-serve.1",
		Args:    cli.Exactly("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			result := struct {
				Dir   string   `json:"dir"`
				Pages []string `json:"pages"`
			}{Dir: args[0]}
			if err := os.MkdirAll(result.Dir, 0o755); err != nil {
				return cli.CannotOpen(err)
			}
			err := ManPages(NewRoot(&cli.Process{}), func(name string, page []byte) error {
				result.Pages = append(result.Pages, name)
				if err := os.WriteFile(filepath.Join(result.Dir, name), page, 0o644); err != nil {
					return cli.CannotOpen(err)
				}
				return nil
			})
			if err != nil {
				return err
			}
			return p.Emit(result, func(w io.Writer) { fmt.Fprintf(w, "%s in %s\n", cli.Count(len(result.Pages), "page"), result.Dir) })
		},
	}
}

// ManPages passes the page of a command, and those of all below it, to write. The
// key types below get, put, scan and delete have none: stoa schema lists them.
func ManPages(cmd *cobra.Command, write func(name string, page []byte) error) error {
	if records.TakesKeyTypes(cmd) {
		cmd.RemoveCommand(cmd.Commands()...)
	}
	cmd.DisableAutoGenTag = true // which has the time of day
	built := builtAt()
	var page bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Date: &built, Source: "stoa", Manual: "Stoa"}, &page); err != nil {
		return fmt.Errorf("man: %s: %w", cmd.CommandPath(), err)
	}
	if err := write(strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1", page.Bytes()); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := ManPages(sub, write); err != nil {
			return err
		}
	}
	return nil
}

// builtAt returns when the program's source was committed, if it was; so pages of one
// build are the same whenever they are written.
func builtAt() time.Time {
	if at := cli.BuildVersion().Date; !at.IsZero() {
		return at
	}
	return time.Now()
}
