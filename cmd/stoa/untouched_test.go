package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/keys"
)

// onlyRead is what reads the directory $DIR, and may write below $OUT.
const onlyRead = `
inspect $DIR
verify $DIR
verify --full $DIR
verify --in-process --full $DIR
hash $DIR
diff $DIR $DIR
export --plain $DIR
export $DIR --out $OUT/dump
wal dump $DIR
salvage $DIR $OUT/salvaged
restore $DIR $OUT/restored
get ContextState --context-id $ID --app-key 6b --offline $DIR
get ContextIdentity --context-id $ID --offline $DIR
scan --column State --offline $DIR
scan --column Blobs --offline $DIR
scan GroupMember --reverse --offline $DIR
context show $ID --offline $DIR
dag log $ID --offline $DIR
dag graph $ID --offline $DIR
namespace list --offline $DIR
namespace ops $ID --offline $DIR
group ops $ID --offline $DIR
`

// TestWhatIsOnlyReadIsNotWritten runs what reads a directory over stores in every
// state, and compares bytes, mode and time of every file before and after.
func TestWhatIsOnlyReadIsNotWritten(t *testing.T) {
	if !hasRocks {
		t.Skip("no RocksDB in this build")
	}
	enginetest.SkipUnderRace(t, "TestScripts runs these commands too")
	for state, dir := range storesToRead(t) {
		before := touched(t, dir, state == "held")
		require.Greater(t, len(before), 5, state)
		for i, line := range strings.Split(strings.TrimSpace(onlyRead), "\n") {
			args := strings.Fields(os.Expand(line, func(name string) string {
				return map[string]string{"DIR": dir, "ID": strings.Repeat("11", 32), "OUT": t.TempDir()}[name]
			}))
			if (i+len(state))%2 == 0 {
				args = append(args, "--json")
			}
			_, errs, code := stoa(args...)
			require.NotEqual(t, cli.ExitBad, code, "%s of a store that is %s: %s", line, state, errs)
			require.Equal(t, before, touched(t, dir, state == "held"), "%s has changed a store that is %s", line, state)
		}
	}
}

// storesToRead returns directories by the state of the store in them.
func storesToRead(t *testing.T) map[string]string {
	root := t.TempDir()
	at := func(state string) string { return filepath.Join(root, state) }
	e, err := rocks.Open(at("held"), rocks.Options{WatermarkEvery: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	id := codec.ContextID([32]byte(bytesOf(0x11)))
	fill := func(n byte) {
		var b engine.Batch
		engine.Put(&b, keys.ContextState{Context: id, AppKey: keys.NewBytes([]byte{'k', n})}, codec.Raw("value"))
		engine.Put(&b, keys.ContextIdentity{Context: id}, codec.ContextIdentityValue{PrivateKey: codec.Some(codec.Secret{n, 1})})
		engine.Put(&b, keys.GroupMember{Group: codec.GroupID(id), Identity: codec.Identity{n}}, codec.Admin)
		b.Put(column.Blobs, append(bytesOf(n), 0, 0, 0, 0), make([]byte, 100_000))
		b.Durability = engine.Synced
		require.NoError(t, e.Apply(&b))
	}
	fill(1)
	require.NoError(t, e.Flush())
	fill(2) // is in the log
	copied := func(from, to string) {
		require.NoError(t, os.Mkdir(at(to), 0o700))
		copyFiles(t, at(from), at(to))
	}
	copied("held", "killed")
	copied("held", "closed")
	closed, err := rocks.Open(at("closed"), rocks.Options{})
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	copied("closed", "damaged")
	tables, err := filepath.Glob(filepath.Join(at("damaged"), "*.sst"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	for _, name := range tables {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		if !strings.Contains(string(b), "default") { // without that it does not open
			b[20] ^= 1
			require.NoError(t, os.WriteFile(name, b, 0o600))
		}
	}
	copied("closed", "unopenable")
	require.NoError(t, os.Remove(filepath.Join(at("unopenable"), "CURRENT")))
	copied("closed", "sealed")
	key := at("key")
	require.NoError(t, os.WriteFile(key, []byte(hex.EncodeToString(bytesOf(7))), 0o600))
	_, errs, code := stoa("rekey", at("sealed"), "--new-key-file", key)
	require.Zero(t, code, errs)
	all := map[string]string{}
	for _, state := range []string{"held", "killed", "closed", "damaged", "unopenable", "sealed"} {
		all[state] = at(state)
	}
	return all
}

// copyFiles copies the files of a directory into another, but for the LOCK: closing that
// would give up the lock that this process has.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() == "LOCK" || !e.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, e.Name()), b, 0o600))
	}
}

// bytesOf returns 32 times a byte.
func bytesOf(b byte) []byte { return []byte(strings.Repeat(string([]byte{b}), 32)) }

// touched returns what tells of every file of dir whether it was written; but for the
// LOG of a store that is held, in which its owner writes now and then.
func touched(t *testing.T, dir string, held bool) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || held && d.Name() == "LOG" {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		var content []byte
		if d.Type().IsRegular() && d.Name() != "LOCK" { // closing that would give up the lock that this process has
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		all[path] = fmt.Sprintf("%s %s %x", st.Mode(), st.ModTime().Format(time.RFC3339Nano), sha256.Sum256(content))
		return nil
	}))
	return all
}
