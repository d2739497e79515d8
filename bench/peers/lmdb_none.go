//go:build !lmdb

package main

import "github.com/stoadb/stoa/bench"

// openLMDB opens nothing: where this program was built there was no LMDB (liblmdb-dev).
func openLMDB(bench.Options, *bench.Dataset) ([]*bench.Subject, error) { return nil, nil }
