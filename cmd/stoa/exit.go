package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/rpc"
)

// Exit codes, as [rpc.Explain] has them.
const (
	exitOK       = 0
	exitBad      = 1 // usage or bad input
	exitDamage   = 2 // damage found
	exitOpen     = 3 // cannot open, or no daemon
	exitNotFound = 4
	exitRefused  = 5 // refused, or a conflict
)

// What several hints say, as hints of package rpc do.
const (
	mendHint     = "`stoa restore BACKUP DIR --replace` puts a backup in its place, `stoa salvage` copies what can be read"
	conceptsHint = "`stoa help concepts` says what such words mean"
)

// failure is an error with the exit code that it leads to and what the user can
// do about it.
type failure struct {
	code int
	err  error
	hint string // empty if the error says it all
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// bad returns a failure for usage or bad input.
func bad(err error, hint string) error { return &failure{exitBad, err, hint} }

// damaged returns a failure for stored bytes that do not parse.
func damaged(err error) error {
	return &failure{exitDamage, err, "the stored bytes are damaged, or were written by another version of the schema"}
}

// refused returns a failure for what the program will not do.
func refused(err error, hint string) error { return &failure{exitRefused, err, hint} }

// explain returns the failure that err is, or what is known of it: package rpc knows the
// errors of the packages below this one.
func explain(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	for _, known := range []struct {
		is   error
		hint string
	}{
		{inspect.ErrDamagedRow, "--skip-damaged lists such rows and imports the others"},
		{inspect.ErrMissingOp, "--skip-damaged lists what cannot be taken in and imports the others, to which it comes again by `stoa namespace sync`"},
		{inspect.ErrDump, ""},
	} {
		if errors.Is(err, known.is) {
			return &failure{exitBad, err, known.hint}
		}
	}
	code, hint := rpc.Explain(err)
	return &failure{code, err, hint}
}

// print writes the failure to stderr, as text or as one line of JSON.
func (f *failure) print(p *process) {
	if p.json {
		line, _ := json.Marshal(struct { // strings and a number always marshal
			Error string `json:"error"`
			Exit  int    `json:"exit"`
			Hint  string `json:"hint,omitempty"`
		}{f.err.Error(), f.code, f.hint})
		fmt.Fprintf(p.stderr, "%s\n", line)
		return
	}
	fmt.Fprintf(p.stderr, "stoa: %v\n", f.err)
	if f.hint != "" {
		fmt.Fprintf(p.stderr, "      %s\n", f.hint)
	}
}
