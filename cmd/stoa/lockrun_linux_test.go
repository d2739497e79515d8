package main

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/server"
)

// lockHost is a daemon in this process that has locks, whose time stands still: what is freed
// in it was released.
type lockHost struct {
	t      *testing.T
	clock  *kvtest.Clock
	locks  *lock.Store
	socket string
}

func serveLocks(t *testing.T) *lockHost {
	h := &lockHost{t: t, clock: kvtest.New()}
	h.clock.Set(time.Since(h.clock.Now())) // that of the processes that hold them
	db := mem.New()
	store, err := kv.Open(db, kv.Options{Clock: h.clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h.locks, err = lock.New(store, lock.Options{})
	require.NoError(t, err)
	h.socket = servingWith(t, db, server.Options{Locks: h.locks})
	t.Cleanup(func() { // before the daemon ends
		h.locks.Close()
		require.NoError(t, store.Close())
	})
	return h
}

// ttl is how long the locks of these tests are held: for longer than a test takes.
const ttl = time.Hour

// run is `stoa lock run deploy` with a script.
func (h *lockHost) run(script string) *exec.Cmd {
	return enginetest.EndWithParent(exec.Command("stoa", "lock", "run", "deploy", "--ttl", ttl.String(), "--tenant", "acme", "--socket", h.socket, "--", "sh", "-c", script))
}

// becomes waits until somebody holds the lock, or nobody, and so many wait for it.
func (h *lockHost) becomes(held bool, waiting int) (token uint64) {
	h.t.Helper()
	var l lock.Lock
	require.Eventually(h.t, func() bool {
		var err error
		l, err = h.locks.Get("acme", lock.Task("deploy"))
		return err == nil && len(l.Holders) > 0 == held && l.Waiting == waiting
	}, patience, 5*time.Millisecond)
	if held {
		token = l.Holders[0].Token
	}
	return token
}

// second is another run, which waits for the lock, and its output, which is the token that it
// gets.
func (h *lockHost) second() (ended func() uint64) {
	h.t.Helper()
	cmd := h.run("echo $STOA_LOCK_TOKEN")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(h.t, cmd.Start())
	h.becomes(true, 1)
	return func() uint64 {
		require.NoError(h.t, cmd.Wait(), errs.String())
		token, err := strconv.ParseUint(strings.TrimSpace(out.String()), 10, 64)
		require.NoError(h.t, err)
		return token
	}
}

// readUntil reads lines until one has a text.
func readUntil(t *testing.T, lines *bufio.Scanner, text string) string {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return lines.Text()
		}
	}
	require.Fail(t, "it ended", "before it said %q: %v", text, lines.Err())
	return ""
}

// Ctrl-C at a terminal goes to the command once, as the terminal sends it; the lock is released
// when the command has ended, and whoever waits has it with a greater token.
func TestCtrlCEndsWhatRunsUnderALock(t *testing.T) {
	h := serveLocks(t)
	screen, program := terminal(t)
	cmd := h.run(`n=0; trap 'n=$((n+1)); echo told $n' INT; trap 'echo told $n in all; exit 3' USR1; echo begun; while :; do sleep 0.05; done`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true // of the terminal on its stdin
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(screen)
	said := readUntil(t, lines, "holds task:deploy, token ")
	first, err := strconv.ParseUint(regexp.MustCompile(`\d+$`).FindString(strings.TrimSpace(said)), 10, 64)
	require.NoError(t, err)
	readUntil(t, lines, "begun")
	ended := h.second()

	_, err = io.WriteString(screen, "\x03")
	require.NoError(t, err)
	readUntil(t, lines, "told 1")
	// What stoa has got by now it deals with before this one, which it passes on.
	require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
	require.Contains(t, readUntil(t, lines, "in all"), "told 1 in all")
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 3, exit.ExitCode(), "as the command ended")
	require.Greater(t, ended(), first)
	h.becomes(false, 0)
}

// Who is killed while it waits waits no more, since its connection is gone. Who is killed while
// its command runs can't release the lock: the command gets SIGTERM, and the lock is free once
// its time is over.
func TestALockRunThatIsKilled(t *testing.T) {
	h := serveLocks(t)
	dir := t.TempDir()
	cmd := h.run("trap 'echo ended > " + dir + "/ended; exit' TERM; echo begun; while :; do sleep 0.05; done")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	readUntil(t, lines, "begun")
	token := h.becomes(true, 0)

	waiting := h.run("true")
	require.NoError(t, waiting.Start())
	h.becomes(true, 1)
	require.NoError(t, waiting.Process.Kill())
	require.Error(t, waiting.Wait())
	require.Equal(t, token, h.becomes(true, 0))

	require.NoError(t, cmd.Process.Kill())
	require.False(t, lines.Scan(), "the command has its end of the pipe until it ends")
	require.Error(t, cmd.Wait())
	require.FileExists(t, filepath.Join(dir, "ended"))
	require.Equal(t, token, h.becomes(true, 0), "nobody has released it")
	ended := h.second()
	h.clock.Pass(ttl)
	require.Greater(t, ended(), token)
}

// The command of a worker that is killed gets SIGTERM: another worker does the job by then.
func TestAWorkerThatIsKilledEndsItsCommand(t *testing.T) {
	db := mem.New()
	store, err := kv.Open(db, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	jobs, err := job.New(store, job.Options{})
	require.NoError(t, err)
	socket := servingWith(t, db, server.Options{Jobs: jobs})
	t.Cleanup(func() {
		jobs.Close()
		require.NoError(t, store.Close())
	})
	queues, err := jobs.Open(t.Context(), "acme")
	require.NoError(t, err)
	_, _, err = queues.Add(t.Context(), engine.WAL, job.Job{ID: "j", Queue: job.Archive})
	require.NoError(t, err)
	ended := filepath.Join(t.TempDir(), "ended")
	cmd := enginetest.EndWithParent(exec.Command("stoa", "job", "work", job.Archive, "--for", ttl.String(), "--tenant", "acme", "--socket", socket, "--", "sh", "-c",
		"trap 'echo ended > "+ended+"; exit' TERM; echo begun; while :; do sleep 0.05; done"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	readUntil(t, lines, "begun")
	require.NoError(t, cmd.Process.Kill())
	require.False(t, lines.Scan(), "the command has its end of the pipe until it ends")
	require.Error(t, cmd.Wait())
	require.FileExists(t, ended)
}

// A daemon that is killed, and is back while the lock lasts, is not noticed: the command goes on,
// and writes with the token that it had; at its end the lock is released.
func TestALockIsHeldWhileItsDaemonIsAway(t *testing.T) {
	if !hasRocks {
		t.Skip("an engine in memory keeps nothing across a kill")
	}
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	daemon := &kvHistory{t: t, path: filepath.Join(dir, cli.SocketName)}
	h := &lockHost{t: t, socket: daemon.path}
	stop := daemon.serveKV(dir)
	cmd := h.run(`echo begun; read word; stoa kv put release 7 --tenant acme --socket ` + h.socket + ` --lock $STOA_LOCK_NAME=$STOA_LOCK_TOKEN; exit 9`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	readUntil(t, lines, "begun")
	stop(true)
	stop = daemon.serveKV(dir)
	_, err = io.WriteString(in, "go on\n")
	require.NoError(t, err)
	readUntil(t, lines, `stored "release"`)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 9, exit.ExitCode(), errs.String())
	said, code := ran(t, "lock", "show", "deploy", "--tenant", "acme", "--socket", h.socket)
	require.Zero(t, code, said)
	require.Equal(t, "task:deploy is free\n", said)
	stop(false)
}
