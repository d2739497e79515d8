// Command stoa is the storage daemon and every tool around it.
//
// Start at internal/program, which is all of it as a function of its arguments, streams and environment; each package
// in internal that has commands has those of a noun, a file for each. internal/cli is what commands have in
// common, and says in exit.go what the exit codes mean.
package main

import (
	"os"

	"github.com/stoadb/stoa/cmd/stoa/internal/program"
)

func main() {
	os.Exit(program.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
