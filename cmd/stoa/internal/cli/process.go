package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/stoadb/stoa/cmd/inspect"
)

// Process is what a command may use of the process that it runs in.
type Process struct {
	Ctx            context.Context // with which what it does ends, at the latest
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string
	JSON           bool    // --json: results and errors are JSON
	Engine         *Engine // that serve knows besides its own; nil: none

	offline []*offlineStore // that the command reads
}

// Getenv returns the value of an environment variable, or "".
func (p *Process) Getenv(name string) string {
	for _, entry := range p.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// IsTerminal reports whether what is written to a stream is read by a person, or what is
// read from it is typed by one.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Interruptible returns a context that Ctrl-C ends, so that nothing half done is
// left behind.
func Interruptible() (ctx context.Context, forget func()) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}

// Warn tells of damage beside a result that goes on: on stderr, as a line.
func (p *Process) Warn(f inspect.Finding) error {
	if p.JSON {
		return WriteJSON(p.Stderr, struct {
			Finding *inspect.Finding `json:"finding"`
		}{&f})
	}
	_, err := fmt.Fprintln(p.Stderr, f)
	return err
}
