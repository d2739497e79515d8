package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installing runs packaging/install.sh for a program that is in the way of tests.
func installing(t *testing.T, what, root, prefix string) string {
	t.Helper()
	program, err := exec.LookPath("stoa")
	require.NoError(t, err)
	cmd := exec.Command("sh", "packaging/install.sh", what)
	cmd.Env = append(os.Environ(), "STOA="+program, "DESTDIR="+root, "PREFIX="+prefix)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return string(said)
}

// filesBelow returns the modes of all files, by their paths.
func filesBelow(t *testing.T, root string) map[string]fs.FileMode {
	t.Helper()
	found := map[string]fs.FileMode{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		found[strings.TrimPrefix(path, root)] = info.Mode()
		return err
	}))
	return found
}

func TestWhatIsInstalledIsWhereTheSystemLooks(t *testing.T) {
	root := t.TempDir()
	require.Empty(t, installing(t, "install", root, "/opt/stoa"), "packages say nothing")
	found := filesBelow(t, root)
	for path, mode := range map[string]fs.FileMode{
		"bin/stoa":                                  0o755,
		"lib/stoa/backup.sh":                        0o755,
		"lib/systemd/system/stoa.service":           0o644,
		"lib/systemd/system/stoa-backup.service":    0o644,
		"lib/systemd/system/stoa-backup.timer":      0o644,
		"lib/sysusers.d/stoa.conf":                  0o644,
		"share/man/man1/stoa.1":                     0o644,
		"share/man/man1/stoa-serve.1":               0o644,
		"share/bash-completion/completions/stoa":    0o644,
		"share/zsh/site-functions/_stoa":            0o644,
		"share/fish/vendor_completions.d/stoa.fish": 0o644,
		"share/doc/stoa/LICENSE":                    0o644,
	} {
		require.Equal(t, mode, found["/opt/stoa/"+path], path)
	}
	unit, err := os.ReadFile(filepath.Join(root, "opt/stoa/lib/systemd/system/stoa.service"))
	require.NoError(t, err)
	require.Contains(t, string(unit), "ExecStart=/opt/stoa/bin/stoa serve ")
	backup, err := os.ReadFile(filepath.Join(root, "opt/stoa/lib/systemd/system/stoa-backup.service"))
	require.NoError(t, err)
	require.Contains(t, string(backup), "ExecStart=/opt/stoa/lib/stoa/backup.sh ")
	require.NotContains(t, string(unit)+string(backup), "/usr/")

	other := filepath.Join(root, "opt/stoa/bin/another")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	require.Contains(t, installing(t, "uninstall", root, "/opt/stoa"), "data in /var/lib/stoa stays")
	require.Len(t, filesBelow(t, root), 1, "what others have put there stays")
}

func TestScriptsOfThePackageAreShell(t *testing.T) {
	for _, name := range []string{"install.sh", "dist.sh", "postinst", "prerm", "postrm"} {
		said, err := exec.Command("sh", "-n", "packaging/"+name).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, said)
	}
	of := unitSettings(t, "stoa.service")
	users, err := os.ReadFile("packaging/stoa.sysusers")
	require.NoError(t, err)
	require.Contains(t, string(users), "\nu "+of["User"]+" - ")
	require.Contains(t, string(users), " /var/lib/"+of["StateDirectory"]+" ")
}
