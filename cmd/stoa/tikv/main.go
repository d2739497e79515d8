// Command stoa-tikv is stoa with one engine more: `stoa-tikv serve --engine tikv --pd ADDR,…` serves a store
// that lies on a cluster of TiKV. Several daemons may serve the same store: one leads it, the others wait, tell
// their clients which one leads, and one of them takes its place when it is silent for six seconds.
//
// It is a module of its own since the client of TiKV brings many others; `make tikv` builds it.
package main

import (
	"context"
	"os"

	"github.com/stoadb/stoa/cmd/stoa/internal/program"
)

func main() {
	f := &flags{}
	os.Exit(program.RunWith(context.Background(), f.engine(f.connect), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
