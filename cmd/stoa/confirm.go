package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/keys"
)

// confirmation is the flag of commands that destroy more than one row, or a secret,
// which nothing brings back. Without it they ask, where there is somebody to ask.
type confirmation struct{ yes bool }

func (c *confirmation) register(fs *pflag.FlagSet) {
	fs.BoolVarP(&c.yes, "yes", "y", false, "do it without asking; without it, and without a terminal, nothing is done, and it exits 5")
}

// maxAnswer is the most bytes that are read of an answer.
const maxAnswer = 1 << 10

// confirmSecret is confirm for a record that is about to be deleted or replaced. Only
// one that holds a secret is asked for: nobody else may have it.
func (c *confirmation) confirmSecret(p *process, verb string, t target) error {
	if !keys.Secret(t.column, t.key) {
		return nil
	}
	ctx, forget := interruptible()
	defer forget()
	return c.confirm(ctx, p, func() (string, error) {
		return fmt.Sprintf("%s the secret in %s, which nobody else may have", verb, keyText(t.info, t.key)), nil
	})
}

// confirm returns nil if what a command is about to do, a sentence that begins with its
// verb, is to be done. A person is asked on a terminal, until ctx ends; everything but y
// and yes is a no. A program, which asks for JSON or has no terminal, says so beforehand.
// about is called only if somebody is to be told; what it returns stops the command.
func (c *confirmation) confirm(ctx context.Context, p *process, about func() (what string, err error)) error {
	if c.yes {
		return nil
	}
	what, err := about()
	if err != nil {
		return err
	}
	if p.json || !isTerminal(p.stdin) || !isTerminal(p.stderr) {
		return refused(fmt.Errorf("this would %s: nothing was done", what), "--yes does it; on a terminal, and without --json, stoa asks")
	}
	fmt.Fprintf(p.stderr, "%s? [y/N] ", what)
	answer := make(chan string, 1)
	go func() { // which a process that is about to end leaves behind, if no answer comes
		line, _ := bufio.NewReader(io.LimitReader(p.stdin, maxAnswer)).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		if line == "y" || line == "yes" {
			return nil
		}
	case <-ctx.Done():
		fmt.Fprintln(p.stderr)
	}
	return refused(errors.New("nothing was done: the answer was not yes"), "")
}
