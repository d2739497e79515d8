package main

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// process is what a command may use of the process that it runs in.
type process struct {
	ctx            context.Context // with which what it does ends, at the latest
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
	json           bool // --json: results and errors are JSON

	offline []*offlineStore // that the command reads
}

// getenv returns the value of an environment variable, or "".
func (p *process) getenv(name string) string {
	for _, entry := range p.env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// isTerminal reports whether what is written to a stream is read by a person, or what is
// read from it is typed by one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
