package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// largeStore makes a store of more rows than a tool writes at once.
func largeStore(t *testing.T, rows int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	e, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	b := engine.Batch{}
	for i := range rows {
		key := append([]byte(fmt.Sprintf("%-16s", "stoa.test")), fmt.Sprintf("%08d", i)...)
		key = bytes.ReplaceAll(key, []byte(" "), []byte{0})
		b.Put(column.Generic, key, bytes.Repeat([]byte{byte(i)}, 100))
	}
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Close())
	return dir
}

// ran runs the program and returns what it says, and its exit code.
func ran(t *testing.T, args ...string) (said string, code int) {
	t.Helper()
	out, err := exec.Command("stoa", args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
		return string(out), 0
	}
	return string(out), exit.ExitCode()
}

// isPart demands that every tool says of dir that a command was broken off there.
func isPart(t *testing.T, dir, command string) {
	t.Helper()
	for _, args := range [][]string{{"serve", "--dir", dir}, {"compact", "--offline", dir}, {"rekey", dir, "--new-key-file", keyFile(t)},
		{"import", os.DevNull, dir}, {"salvage", dir, dir}, {"restore", dir, dir + ".to"}} {
		said, code := ran(t, args...)
		require.Equal(t, cli.ExitOpen, code, "%s: %s", args, said)
		require.Contains(t, said, "not whole", args)
		require.Contains(t, said, "stoa "+command, args)
		require.Contains(t, said, "remove "+dir+" and run the command again", args)
	}
	for _, args := range [][]string{{"verify", dir}, {"verify", dir, "--full"}} {
		said, code := ran(t, args...)
		require.Equal(t, cli.ExitDamage, code, "%s: %s", args, said)
		require.Contains(t, said, "unfinished", args)
	}
	said, code := ran(t, "export", dir, "--plain")
	if e, err := rocks.Open(dir, rocks.Options{ReadOnly: true, Building: true}); err == nil {
		require.NoError(t, e.Close())
		require.Equal(t, cli.ExitDamage, code, said)
		require.Contains(t, said, "unfinished")
	} else { // there is nothing of it that RocksDB can read yet
		require.Equal(t, cli.ExitOpen, code, said)
		require.Contains(t, said, "not whole")
	}
	for _, args := range [][]string{{"inspect", dir}, {"hash", dir}, {"scan", "Generic", "--offline", dir}} {
		said, _ := ran(t, args...)
		require.Contains(t, said, "stoa "+command, args)
	}
}

func keyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{'a'}, 64), 0o600))
	return path
}

// begun waits until a command has said in dir that it builds a store.
func begun(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool { return rocks.CheckWhole(dir) != nil }, time.Minute, time.Microsecond)
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

func TestKilledImportLeavesAStoreThatSaysSo(t *testing.T) {
	if !hasRocks {
		t.Skip("an engine in memory keeps nothing across a kill")
	}
	const rows = 9000
	src := largeStore(t, rows)
	dump, err := exec.Command("stoa", "export", src, "--plain").Output()
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(dump), "\n"), "\n")
	for name, given := range map[string]int{"nothing": 0, "the header": 1, "a part": 5000, "all but the end": len(lines) - 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for processes
			dir := filepath.Join(t.TempDir(), "copy")
			cmd := exec.Command("stoa", "import", "-", dir)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			defer kill(cmd)
			_, err = io.WriteString(in, strings.Join(lines[:given], ""))
			require.NoError(t, err)
			begun(t, dir)
			kill(cmd)
			isPart(t, dir, "import -")

			require.NoError(t, os.RemoveAll(dir))
			again := exec.Command("stoa", "import", "-", dir)
			again.Stdin = bytes.NewReader(dump)
			out, err := again.CombinedOutput()
			require.NoError(t, err, "%s", out)
			said, code := ran(t, "verify", dir, "--full")
			require.Zero(t, code, said)
			require.Contains(t, said, fmt.Sprint(rows))
		})
	}
}

// Until namespaces that came without keys are whole, the store is not.
func TestImportThatLacksAnOpLeavesAStoreThatSaysSo(t *testing.T) {
	if !hasRocks {
		t.Skip("it needs a directory")
	}
	dir := filepath.Join(t.TempDir(), "db")
	e, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	s, err := namespace.Open(e, namespace.Options{})
	require.NoError(t, err)
	ns, made, err := s.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	b := engine.Batch{}
	engine.Delete(&b, keys.NamespaceGovOp{Namespace: ns, Delta: made.Answer.ID})
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Close())
	dump := filepath.Join(t.TempDir(), "dump")
	said, code := ran(t, "export", dir, "--out", dump)
	require.Zero(t, code, said)

	part := filepath.Join(t.TempDir(), "part")
	said, code = ran(t, "import", dump, part)
	require.Equal(t, cli.ExitBad, code, said)
	require.Contains(t, said, "op "+made.Answer.ID.String()+" is missing")
	require.Contains(t, said, "--skip-damaged")
	isPart(t, part, "import "+dump)

	whole := filepath.Join(t.TempDir(), "whole")
	said, code = ran(t, "import", dump, whole, "--skip-damaged")
	require.Equal(t, cli.ExitDamage, code, said)
	said, code = ran(t, "verify", whole, "--full")
	require.Zero(t, code, said)
}

func TestImportThatFailsLeavesAStoreThatSaysSo(t *testing.T) {
	if !hasRocks {
		t.Skip("it needs a directory")
	}
	file := filepath.Join(t.TempDir(), "dump")
	dump, err := exec.Command("stoa", "export", largeStore(t, 10), "--plain").Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, dump[:len(dump)-30], 0o600))
	dir := filepath.Join(t.TempDir(), "copy")
	said, code := ran(t, "import", file, dir)
	require.Equal(t, cli.ExitBad, code)
	require.Contains(t, said, "cut off")
	require.Contains(t, said, "what is in "+dir+" is not whole")
	isPart(t, dir, "import "+file)
}

// A restore that was killed before it had copied CURRENT has left a part, and that is
// what each tool says.
func TestAPartOfACopyIsCalledThat(t *testing.T) {
	if !hasRocks {
		t.Skip("it needs a directory")
	}
	src := largeStore(t, 10)
	dir := filepath.Join(t.TempDir(), "a.restoring")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, rocks.BeginBuilding(dir, "`stoa restore "+src+" a`, begun a moment ago and not ended,"))
	isPart := func(code int, args ...string) {
		t.Helper()
		said, exit := ran(t, args...)
		require.Equal(t, code, exit, "%s: %s", args, said)
		require.Contains(t, said, "not whole: "+dir+" is what `stoa restore "+src+" a`, begun ", args)
		require.Contains(t, said, "remove "+dir+" and run the command again", args)
		require.NotContains(t, said, "CURRENT", args)
	}
	all := func() {
		t.Helper()
		isPart(cli.ExitDamage, "verify", dir)
		isPart(cli.ExitDamage, "verify", dir, "--json")
		for _, args := range [][]string{{"inspect", dir}, {"hash", dir}, {"export", dir, "--plain"}, {"scan", "Generic", "--offline", dir}, {"serve", "--dir", dir}} {
			isPart(cli.ExitOpen, args...)
		}
	}
	all()
	copyFiles(t, src, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, "CURRENT")))
	all()
}

// Salvage and restore are killed as soon as they have begun; one that was quicker has
// left a whole store.
func TestKilledSalvageAndRestoreLeaveStoresThatSaySo(t *testing.T) {
	if !hasRocks {
		t.Skip("an engine in memory keeps nothing across a kill")
	}
	src := largeStore(t, 60_000)
	for command, beside := range map[string]string{"salvage": "", "restore": ".restoring"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			for killed := false; !killed; {
				dst := filepath.Join(t.TempDir(), "copy")
				cmd := exec.Command("stoa", command, src, dst)
				require.NoError(t, cmd.Start())
				require.Eventually(t, func() bool {
					_, err := os.Lstat(dst)
					return rocks.CheckWhole(dst+beside) != nil || beside != "" && err == nil
				}, time.Minute, time.Microsecond)
				kill(cmd)
				if rocks.CheckWhole(dst+beside) == nil {
					said, code := ran(t, "verify", dst, "--full")
					require.Zero(t, code, said)
					continue
				}
				killed = true
				if rocks.CheckStore(dst+beside) == nil { // the first file is there
					isPart(t, dst+beside, command+" "+src)
				}
				if beside != "" {
					require.NoFileExists(t, dst)
				} else {
					require.NoError(t, os.RemoveAll(dst))
				}
				said, code := ran(t, command, src, dst)
				require.Zero(t, code, said)
				require.NoError(t, rocks.CheckWhole(dst))
				_, err := os.Lstat(dst + beside + "/stoa.building")
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		})
	}
}
