package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/enginetest"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

// patience is how long a test waits for what comes soon, on a machine that may have
// a lot of other work.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "verify" {
		command() // a test that runs in this process wants a verification apart from it
	}
	if os.Getenv(raceEnv) == "" { // for the processes that tests start
		_ = os.Setenv(raceEnv, quickEnd)
	}
	testscript.Main(runner{m}, commands)
}

// commands are the programs that tests start.
var commands = map[string]func(){"stoa": command}

// command is main in a process that a test, or a script of one, has started.
func command() {
	enginetest.EndThisWithParent()
	handOn()
	main()
}

// What the race detector does at the end of a process: without it each takes a second
// to end.
const (
	raceEnv  = "GORACE"
	quickEnd = "atexit_sleep_ms=10"
)

// TestScripts runs the transcripts of testdata/script. Beside what testscript
// has, they may say:
//
//	exits CODE args...   run stoa, which must exit with CODE
//	await DIR|SOCKET     wait until a daemon listens
//	capture NAME REGEXP  set NAME to what the group of REGEXP finds in stdout
//	terminate            send SIGTERM to the background processes
//	nodeid               set NODE to the node id that was printed last
//	holed DIR            make a store as a power cut leaves it
//	[rocks]              this build has RocksDB
func TestScripts(t *testing.T) {
	// The path of a socket has to be short, and that of t.TempDir is not.
	root, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	backup, err := filepath.Abs("systemd/backup.sh")
	require.NoError(t, err)
	merod, err := filepath.Abs("../inspect/testdata/merod")
	require.NoError(t, err)
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
			e.Setenv("UID", strconv.Itoa(os.Getuid()))
			e.Setenv("BACKUP", backup)
			e.Setenv("MEROD", merod)
			e.Setenv(raceEnv, os.Getenv(raceEnv))
			e.Setenv(racedEnv, os.Getenv(racedEnv))
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "rocks" && hasRocks, nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "await": await, "terminate": terminate, "capture": capture, "untimed": untimed, "nodeid": nodeID, "holed": holed,
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
		path = filepath.Join(path, cli.SocketName)
	}
	ts.Check(listens(path))
}

// listens waits until a daemon listens on a socket.
func listens(path string) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no daemon: %w", err)
		}
	}
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("stdout has not one group of %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// untimed writes stdout to a file, without what verify says of the time that it took.
func untimed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: untimed FILE")
	}
	text := regexp.MustCompile(`(?m)^time: .*\n`).ReplaceAllString(ts.ReadFile("stdout"), "")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func terminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: terminate")
	}
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}

func nodeID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: nodeid")
	}
	found := regexp.MustCompile(`"node_id":"([0-9a-f]{32})"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("no node id was printed")
	}
	ts.Setenv("NODE", found[1])
}
