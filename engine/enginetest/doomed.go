package enginetest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// UntilKilled runs the test that calls it in a process of its own, with the environment
// variable name set to value, which is not to be empty: there the test prints lines that
// each end with a dot, and goes on until it is killed, which happens after some time from
// the first line on. It returns the whole lines, without their dots.
func UntilKilled(t testing.TB, name, value string, after time.Duration) (lines []string) {
	t.Helper()
	cmd := EndWithParent(exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$"))
	cmd.Env = append(os.Environ(), name+"="+value, "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for in := bufio.NewScanner(out); in.Scan(); {
		if lines == nil {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		line, whole := strings.CutSuffix(in.Text(), ".")
		if !whole {
			break // it was killed within the line
		}
		lines = append(lines, line)
	}
	require.NotEmpty(t, lines)
	require.Error(t, cmd.Wait())
	return lines
}
