//go:build !cgo

package main

import "github.com/rogpeppe/go-internal/testscript"

const hasRocks = false

func holed(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("no RocksDB in this build") }
