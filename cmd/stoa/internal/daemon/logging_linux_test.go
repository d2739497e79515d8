package daemon

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/codec"
)

func TestLogsAreTextOnATerminalAndJSONElsewhere(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	defer screen.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer program.Close()
	log, err := newLogger(program, "info", "auto")
	require.NoError(t, err)
	log.Info("hello")
	log.Debug("not told")
	lines := bufio.NewScanner(screen)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "level=INFO msg=hello")

	var out strings.Builder
	log, err = newLogger(&out, "debug", "auto")
	require.NoError(t, err)
	log.Debug("told", "secret", codec.Secret{0xCA, 0x41})
	require.Contains(t, out.String(), `"msg":"told","secret":"redacted:`)
	require.NotContains(t, out.String(), "ca41")
}
