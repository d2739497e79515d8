// Command stoa is the storage daemon and every tool around it.
//
// Start at commands.go, the table of commands: each has a file named after it.
// run in run.go is the whole program as a function of its arguments, streams
// and environment; exit.go says what the exit codes mean.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
