package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/enginetest"
)

// racedEnv names the program with the race detector in it. Where it is set, the stoa that
// scripts find is one without.
const racedEnv = "STOA_TEST_RACED"

// together are the command lines of what has goroutines that share something: daemons,
// those that a command starts within itself, and what keeps on while another thing runs.
var together = regexp.MustCompile(`(^| )(serve|bench|top|monitor|shell|view|watch|follow|sync|lock run|job work|blob put|--offline\S*)( |$)`)

// runner runs the tests, more of them at once than others are. Under the race detector the commands that they start, two thousand
// of which ask a daemon one thing and print the answer, take three times as long to start,
// and the detector has nothing to see in them. So these come from a program without it,
// which hands on to the one with it what is together.
type runner struct{ *testing.M }

func (r runner) Run() int {
	r.beside()
	if !enginetest.UnderRace {
		return r.M.Run()
	}
	raced, err := exec.LookPath("stoa")
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "plain")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", filepath.Join(dir, "stoa"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		log.Fatalf("the program without the race detector: %v\n%s", err, out)
	}
	for name, value := range map[string]string{racedEnv: raced, "PATH": dir + string(filepath.ListSeparator) + os.Getenv("PATH")} {
		if err := os.Setenv(name, value); err != nil {
			log.Fatal(err)
		}
	}
	return r.M.Run()
}

// beside lets twice as many tests run at once as there are processors, unless -parallel says
// how many: those that may wait for processes, and for time to pass.
func (runner) beside() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		log.Fatal(err)
	}
}

// handOn runs a command with the race detector if that is there and has something to see.
func handOn() {
	raced := os.Getenv(racedEnv)
	if enginetest.UnderRace || raced == "" || !together.MatchString(strings.Join(os.Args[1:], " ")) {
		return
	}
	err := syscall.Exec(raced, append([]string{"stoa"}, os.Args[1:]...), os.Environ())
	fmt.Fprintln(os.Stderr, "stoa: the program with the race detector:", err)
	os.Exit(1)
}

func TestWhatRunsOnIsUnderTheRaceDetector(t *testing.T) {
	runsOn := 0
	for _, line := range examplesOf(newRoot(&cli.Process{})) {
		if goesOn.MatchString(line) {
			runsOn++
			require.Regexp(t, together, line)
		}
	}
	require.Greater(t, runsOn, 10)
	for _, line := range []string{"lock run a -- true", "job work a -- true", "blob put file", "scan Generic --offline dir", "--json get --offline=dir"} {
		require.Regexp(t, together, line)
	}
	for _, line := range []string{"kv put serve-a 1", "get Generic", "verify dir"} {
		require.NotRegexp(t, together, line)
	}
}
