// Command stoa is the storage daemon and every tool around it.
//
// Start at commands.go, the table of packages in internal that have commands: each has
// those of a noun, a file for each. run in run.go is the whole program as a function of
// its arguments, streams and environment; internal/cli is what commands have in common,
// and says in exit.go what the exit codes mean.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
