package main

import (
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/seal"
	"github.com/stoadb/stoa/keys"
)

// rekeyed is a sealed store whose key is changed again and again.
type rekeyed struct {
	t    *testing.T
	dir  string
	want map[string]string
}

// sealedStore makes a store with more secrets than are sealed at once.
func sealedStore(t *testing.T, k seal.Key) *rekeyed {
	t.Helper()
	s := &rekeyed{t: t, dir: filepath.Join(t.TempDir(), "db")}
	e, err := rocks.Open(s.dir, rocks.Options{})
	require.NoError(t, err)
	sealed, err := seal.Open(e, k, seal.Options{})
	require.NoError(t, err)
	var b engine.Batch
	for i := range 600 {
		id, secret := [32]byte{byte(i), byte(i >> 8)}, codec.Secret{byte(i), 1}
		engine.Put(&b, keys.ContextIdentity{Context: id}, codec.ContextIdentityValue{PrivateKey: codec.Some(secret)})
		engine.Put(&b, keys.GroupSigningKey{Group: id}, codec.GroupSigningKeyValue{PrivateKey: secret})
	}
	require.NoError(t, sealed.Apply(&b))
	s.want = s.rows(sealed)
	require.Len(t, s.want, 1200)
	require.NoError(t, e.Close())
	return s
}

func (s *rekeyed) rows(r engine.Reader) map[string]string {
	s.t.Helper()
	rows := map[string]string{}
	for _, c := range []column.Column{column.Identity, column.Group} {
		it, err := r.Iterate(c, engine.Range{})
		require.NoError(s.t, err)
		for it.Next() {
			rows[c.String()+string(it.Key())] = string(it.Value())
		}
		require.NoError(s.t, errors.Join(it.Err(), it.Close()))
	}
	return rows
}

// opens reports whether k opens the store, and demands that its secrets are all
// there then.
func (s *rekeyed) opens(k seal.Key) bool {
	s.t.Helper()
	source, err := inspect.OpenDir(s.dir, inspect.Options{Key: k})
	if errors.Is(err, seal.ErrWrongKey) {
		return false
	}
	require.NoError(s.t, err)
	require.Equal(s.t, s.want, s.rows(source))
	require.NoError(s.t, source.Close())
	return true
}

// The real `stoa rekey` is killed at any moment, and run again: meanwhile the old
// key opens the store or the new one, and in the end the new one alone, and no secret
// is lost.
func TestRekeyIsResumedAfterKills(t *testing.T) {
	random := enginetest.Random(t)
	if !hasRocks {
		t.Skip("an engine in memory keeps nothing across a kill")
	}
	var files [2]string
	var sealKeys [2]seal.Key
	for i := range files {
		secret := make([]byte, 32)
		secret[0] = byte(i + 1)
		files[i] = filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(files[i], []byte(hex.EncodeToString(secret)), 0o600))
		var err error
		sealKeys[i], err = seal.ReadKeyFile(files[i])
		require.NoError(t, err)
	}
	s := sealedStore(t, sealKeys[0])
	run := func(from, to int) *exec.Cmd {
		return enginetest.EndWithParent(exec.Command("stoa", "rekey", s.dir, "--seal-key-file", files[from], "--new-key-file", files[to]))
	}
	start := time.Now()
	out, err := run(0, 1).CombinedOutput()
	require.NoError(t, err, "%s", out)
	takes := time.Since(start)

	found := map[string]int{}
	for round := range enginetest.Scale(8) {
		from, to := (round+1)%2, round%2
		for range 1 + random.IntN(3) {
			cmd := run(from, to)
			require.NoError(t, cmd.Start())
			time.Sleep(time.Duration(random.Int64N(int64(takes))))
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			old, next := s.opens(sealKeys[from]), s.opens(sealKeys[to])
			require.True(t, old != next, "old key %t, new key %t", old, next)
			if next {
				found["the new key"]++
			} else {
				found["the old key"]++
			}
		}
		out, err := run(from, to).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.False(t, s.opens(sealKeys[from]))
		require.True(t, s.opens(sealKeys[to]))
	}
	t.Log("after a kill the store was opened by:", found)
}
