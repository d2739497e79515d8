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
	parentOf := func(child *exec.Cmd) {
		child.Stdout = os.Stdout
		require.NoError(t, child.Start())
		time.Sleep(time.Hour) // until it is killed
	}
	ready := func() {
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
	switch os.Getenv(env) {
	case "parent of one that is told":
		parentOf(EndWithParent(start("told")))
	case "parent of one that asks":
		parentOf(start("asks"))
	case "told":
		ready()
	case "asks":
		EndThisWithParent()
		ready()
	}
	for _, child := range []string{"one that is told", "one that asks"} {
		t.Run(child, func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			parent := start("parent of " + child)
			parent.Stdout = w
			require.NoError(t, parent.Start())
			defer parent.Process.Kill()
			require.NoError(t, w.Close())
			_, err = io.ReadFull(r, make([]byte, len("ready\n")))
			require.NoError(t, err)
			require.NoError(t, parent.Process.Kill())
			_, _ = io.Copy(io.Discard, r) // until nobody holds the other end
			require.Error(t, parent.Wait())
		})
	}
}
