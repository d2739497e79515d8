//go:build cgo

package rocks

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// Whatever RocksDB or the store would open by its name has to be a regular file: no
// pipe is waited for, no link followed, and nothing read without end.
func TestSpecialFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir, _ := crashed(t)
	manifest, _, err := diskfile.CurrentManifest(dir)
	require.NoError(t, err)
	names := []string{"CURRENT", filepath.Base(manifest), filepath.Base(newest(t, dir, ".log")), "LOCK", "LOG", "IDENTITY",
		"000099.sst", "000099.blob", "OPTIONS-000099", "LOG.old.1", markerName, watermarkName, watermarkName + ".tmp", "000099.dbtmp"}
	makers := map[string]func(path string) error{
		"pipe":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
	}
	short := shortDir(t) // paths of sockets are short
	for _, name := range names {
		for kind, maker := range makers {
			hurt := filepath.Join(short, kind)
			require.NoError(t, os.CopyFS(hurt, os.DirFS(dir)))
			path := filepath.Join(hurt, name)
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, maker(path), name)
			for _, o := range []Options{{}, {ReadOnly: true}, {AcceptLoss: true}} {
				_, err := Open(hurt, o)
				require.ErrorIs(t, err, engine.ErrCorrupt, "%s: %s", kind, name)
				require.ErrorContains(t, err, name+" of "+hurt+" is a "+kind)
			}
			_, err := diskfile.ReadSmall(path, 64)
			require.Error(t, err)
			_, _ = List(hurt) // it comes back
			require.NoError(t, os.RemoveAll(hurt))
		}
	}
}

// A store may be at the other end of a link, and have in it what is no file of it.
func TestALinkToAStoreIsOne(t *testing.T) {
	t.Parallel()
	dir, _ := crashed(t)
	require.NoError(t, os.Symlink("/nowhere", filepath.Join(dir, "notes")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "stoa.spool"), 0o700))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	requireRows(t, open(t, link, Options{}), damagedRows)
}

func TestCurrentOfMoreBytesThanItHasIsDamage(t *testing.T) {
	dir, _ := crashed(t)
	require.NoError(t, os.Truncate(filepath.Join(dir, "CURRENT"), 1<<40)) // it takes no disk
	_, err := List(dir)
	require.ErrorIs(t, err, diskfile.ErrDamaged)
	require.ErrorContains(t, err, "CURRENT has more than 64 bytes")
}
