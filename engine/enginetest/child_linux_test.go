package enginetest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process whose parent is killed is gone too: the pipe that only it still holds ends.
func TestAChildEndsWithItsParent(t *testing.T) {
	const env = "STOA_TEST_GENERATION"
	start := func(generation string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), env+"="+generation)
		return cmd
	}
	switch os.Getenv(env) {
	case "parent":
		child := EndWithParent(start("child"))
		child.Stdout = os.Stdout
		require.NoError(t, child.Start())
		time.Sleep(time.Hour)
	case "child":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	parent := start("parent")
	parent.Stdout = w
	require.NoError(t, parent.Start())
	defer parent.Process.Kill()
	require.NoError(t, w.Close())
	_, err = io.ReadFull(r, make([]byte, len("ready\n")))
	require.NoError(t, err)
	require.NoError(t, parent.Process.Kill())
	_, _ = io.Copy(io.Discard, r) // until nobody holds the other end
	require.Error(t, parent.Wait())
}
