package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// unitSettings reads a unit of systemd: the last value of each setting.
func unitSettings(t *testing.T, name string) map[string]string {
	unit, err := os.ReadFile(filepath.Join("systemd", name))
	require.NoError(t, err)
	settings := map[string]string{}
	for line := range strings.Lines(string(unit)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			settings[name] = value
		}
	}
	return settings
}

func TestTheUnitRunsWhatServeKnows(t *testing.T) {
	settings := unitSettings(t, "stoa.service")
	require.Equal(t, "notify", settings["Type"])
	require.Equal(t, "strict", settings["ProtectSystem"])
	require.Equal(t, "AF_UNIX", settings["RestrictAddressFamilies"])
	command := strings.Fields(settings["ExecStart"])
	require.Equal(t, []string{"/usr/bin/stoa", "serve"}, command[:2])
	serve := serveCommand(t)
	require.NoError(t, serve.ParseFlags(command[2:]))
	require.Empty(t, serve.Flags().Args())
	require.Equal(t, "/var/lib/"+settings["StateDirectory"]+"/data", serve.Flag("dir").Value.String())
	for _, socket := range []string{"socket", "metrics-socket"} {
		require.Equal(t, "/run/"+settings["RuntimeDirectory"], filepath.Dir(serve.Flag(socket).Value.String()))
	}

	backup := unitSettings(t, "stoa-backup.service")
	require.Equal(t, settings["User"], backup["User"])
	command = strings.Fields(backup["ExecStart"])
	require.Equal(t, "/usr/lib/stoa/backup.sh", command[0])
	require.Equal(t, serve.Flag("socket").Value.String(), command[1])
	require.Equal(t, "/var/lib/"+backup["StateDirectory"]+"/backup", command[2])
}

// serveCommand returns the command that runs the daemon.
func serveCommand(t *testing.T) *cobra.Command {
	serve, _, err := newRoot(&cli.Process{}).Find([]string{"serve"})
	require.NoError(t, err)
	return serve
}

// TestSystemdTakesTheUnits asks systemd itself, where it is installed.
func TestSystemdTakesTheUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze here")
	}
	units, err := filepath.Glob("systemd/stoa*")
	require.NoError(t, err)
	require.Len(t, units, 3)
	dir := t.TempDir()
	program, err := os.Executable()
	require.NoError(t, err)
	args := []string{"verify", "--man=no"}
	for _, unit := range units {
		b, err := os.ReadFile(unit)
		require.NoError(t, err)
		b = []byte(strings.NewReplacer("/usr/bin/stoa", program, "/usr/lib/stoa/backup.sh", program).Replace(string(b)))
		path := filepath.Join(dir, filepath.Base(unit))
		require.NoError(t, os.WriteFile(path, b, 0o600))
		args = append(args, path)
	}
	verify := func(args ...string) string {
		said, err := exec.Command("systemd-analyze", args...).CombinedOutput()
		if err != nil {
			said = append(said, err.Error()...)
		}
		return string(said)
	}
	require.Empty(t, verify(args...))
	wrong := filepath.Join(dir, "wrong.service")
	require.NoError(t, os.WriteFile(wrong, []byte("[Service]\nExecStart=/bin/true\nProtectNothing=yes\n"), 0o600))
	require.Contains(t, verify("verify", "--man=no", wrong), "ProtectNothing")
}
