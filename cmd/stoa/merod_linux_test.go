package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// A database that a merod has open is not read.
func TestADatabaseThatIsOpenIsRefused(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	dir := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.CopyFS(dir, os.DirFS("../inspect/testdata/merod/home")))
	f, err := os.Create(filepath.Join(dir, "data", "LOCK"))
	require.NoError(t, err)
	defer f.Close()
	inspected := func() (int, string) {
		var out, errs strings.Builder
		return run([]string{"inspect", "--merod", dir}, strings.NewReader(""), &out, &errs, nil), errs.String()
	}
	code, said := inspected()
	require.Equal(t, cli.ExitOK, code, said)
	require.NoError(t, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
	code, said = inspected()
	require.Equal(t, cli.ExitOpen, code)
	require.Contains(t, said, "its file LOCK is held")
}
