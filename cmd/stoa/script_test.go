package main

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stoa": main, "stubborn": stubborn})
}

// TestScripts runs the transcripts of testdata/script. Beside what testscript
// has, they may say:
//
//	exits CODE args...   run stoa, which must exit with CODE
//	await DIR|SOCKET     wait until a daemon listens
//	terminate            send SIGTERM to the background processes
//	[rocks]              this build has RocksDB
func TestScripts(t *testing.T) {
	// The path of a socket has to be short, and that of t.TempDir is not.
	root, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		WorkdirRoot:         root,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, digit := range "0123" {
				e.Setenv("ID"+string(digit), strings.Repeat(string(digit), 64))
			}
			e.Setenv("GORACE", "atexit_sleep_ms=10") // else each process takes a second to end
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "rocks" && hasRocks, nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "await": await, "terminate": terminate,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec("stoa", args[1:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d instead of %d", code, want)
	}
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await DIR|SOCKET")
	}
	path := ts.MkAbs(args[0])
	if st, err := os.Stat(path); filepath.Ext(path) != ".sock" || err == nil && st.IsDir() {
		path = filepath.Join(path, socketName)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			ts.Check(conn.Close())
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no daemon: %v", err)
		}
	}
}

func terminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: terminate")
	}
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}
