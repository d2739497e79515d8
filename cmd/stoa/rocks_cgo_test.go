//go:build cgo

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/keys"
)

const hasRocks = true

// holed makes a store whose machine has lost its power: one row was synced; of two that
// were not, the first, of 40 KiB, is there but for a page.
func holed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: holed DIR")
	}
	live, dir := ts.MkAbs(args[0]+".live"), ts.MkAbs(args[0])
	e, err := rocks.Open(live, rocks.Options{WatermarkEvery: time.Hour})
	ts.Check(err)
	for i, size := range []int{6, 40 << 10, 7} {
		b := engine.Batch{Durability: engine.WAL}
		if i == 0 {
			b.Durability = engine.Synced
		}
		engine.Put(&b, keys.ContextState{Context: codec.ContextID{0x11}, AppKey: keys.NewBytes([]byte{byte(i)})}, codec.Raw(bytes.Repeat([]byte{'x'}, size)))
		ts.Check(e.Apply(&b))
	}
	ts.Check(os.CopyFS(dir, os.DirFS(live)))
	ts.Check(e.Close())
	logs, err := filepath.Glob(filepath.Join(dir, "[0-9]*.log"))
	ts.Check(err)
	b, err := os.ReadFile(logs[len(logs)-1])
	ts.Check(err)
	clear(b[4096:8192])
	ts.Check(os.WriteFile(logs[len(logs)-1], b, 0o600))
}
