package main

import "github.com/stoadb/stoa/cmd/stoa/internal/program"

// What tests call the program by.
var (
	run     = program.Run
	newRoot = program.NewRoot
)
