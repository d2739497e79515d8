package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/cmd/stoa/internal/program"
	"github.com/stoadb/stoa/cmd/stoa/internal/records"
)

func TestEveryCommandHasAPageWithItsFlags(t *testing.T) {
	pages := map[string]string{}
	require.NoError(t, program.ManPages(newRoot(&cli.Process{}), func(name string, page []byte) error {
		require.NotContains(t, pages, name)
		pages[name] = string(page)
		return nil
	}))
	everyLeaf(func(path string, cmd *cobra.Command) {
		if records.TakesKeyTypes(cmd.Parent()) {
			cmd = cmd.Parent()
		}
		page := pages[strings.ReplaceAll(path, " ", "-")+".1"]
		require.Contains(t, page, ".SH SYNOPSIS", path)
		require.Contains(t, page, ".SH EXAMPLE", path)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			require.Equal(t, !f.Hidden, strings.Contains(page, `\fB--`+f.Name+`\fP`), "%s: %s", path, f.Name)
		})
		delete(pages, strings.ReplaceAll(path, " ", "-")+".1")
	})
	require.Contains(t, pages["stoa.1"], "stoa-serve(1)")
	require.NotContains(t, pages, "stoa-get-GroupMember.1")
	for name, page := range pages { // of those that only have subcommands
		require.Contains(t, page, ".SH SEE ALSO", name)
	}
}

func TestPagesAreWhatManReads(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("no groff here")
	}
	require.NoError(t, program.ManPages(serveCommand(t), func(name string, page []byte) error {
		cmd := exec.Command("groff", "-man", "-Tascii", "-ww", "-z")
		cmd.Stdin = strings.NewReader(string(page))
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, name)
		require.Empty(t, string(said), name)
		return nil
	}))
}
