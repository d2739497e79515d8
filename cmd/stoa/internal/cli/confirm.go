package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Confirmation is the flag of commands that destroy more than one row, or a secret,
// which nothing brings back. Without it they ask, where there is somebody to ask.
type Confirmation struct{ Yes bool }

// Register adds the flag to those of a command.
func (c *Confirmation) Register(fs *pflag.FlagSet) {
	fs.BoolVarP(&c.Yes, "yes", "y", false, "do it without asking; without it, and without a terminal, nothing is done, and it exits 5")
}

// maxAnswer is the most bytes that are read of an answer.
const maxAnswer = 1 << 10

// Confirm returns nil if what a command is about to do, a sentence that begins with its
// verb, is to be done. A person is asked on a terminal, until ctx ends; everything but y
// and yes is a no. A program, which asks for JSON or has no terminal, says so beforehand.
// about is called only if somebody is to be told; what it returns stops the command.
func (c *Confirmation) Confirm(ctx context.Context, p *Process, about func() (what string, err error)) error {
	if c.Yes {
		return nil
	}
	what, err := about()
	if err != nil {
		return err
	}
	if p.JSON || !IsTerminal(p.Stdin) || !IsTerminal(p.Stderr) {
		return Refused(fmt.Errorf("this would %s: nothing was done", what), "--yes does it; on a terminal, and without --json, stoa asks")
	}
	fmt.Fprintf(p.Stderr, "%s? [y/N] ", what)
	answer := make(chan string, 1)
	go func() { // which a process that is about to end leaves behind, if no answer comes
		line, _ := bufio.NewReader(io.LimitReader(p.Stdin, maxAnswer)).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		if line == "y" || line == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(p.Stderr)
	}
	return Refused(errors.New("nothing was done: the answer was not yes"), "")
}
