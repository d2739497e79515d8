package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// Exit codes, as [rpc.Explain] has them.
const (
	ExitOK       = 0
	ExitBad      = 1 // usage or bad input
	ExitDamage   = 2 // damage found
	ExitOpen     = 3 // cannot open, or no daemon
	ExitNotFound = 4
	ExitRefused  = 5 // refused, or a conflict
)

// What several hints say, as hints of package rpc do.
const (
	MendHint     = "`stoa restore BACKUP DIR --replace` puts a backup in its place, `stoa salvage` copies what can be read"
	ConceptsHint = "`stoa help concepts` says what such words mean"
)

// Failure is an error with the exit code that it leads to and what the user can
// do about it.
type Failure struct {
	Code int
	Err  error  // nil: what it is about has said why
	Hint string // empty if the error says it all
}

// Error returns the text of the error.
func (f *Failure) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit code %d", f.Code)
	}
	return f.Err.Error()
}

// Unwrap returns the error that the failure is made of.
func (f *Failure) Unwrap() error { return f.Err }

// Fail returns a failure with an exit code, and a hint unless that is empty.
func Fail(code int, err error, hint string) error { return &Failure{code, err, hint} }

// Exit returns a failure of another program, which has said why: nothing is printed.
func Exit(code int) error { return &Failure{Code: code} }

// Bad returns a failure for usage or bad input.
func Bad(err error, hint string) error { return Fail(ExitBad, err, hint) }

// Refused returns a failure for what the program will not do.
func Refused(err error, hint string) error { return Fail(ExitRefused, err, hint) }

// Explain returns the failure that err is, or what is known of it: package rpc knows the
// errors of the packages below this one.
func Explain(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	for _, known := range []struct {
		is   error
		hint string
	}{
		{inspect.ErrDamagedRow, "--skip-damaged lists such rows and imports the others"},
		{inspect.ErrMissingOp, "--skip-damaged lists what cannot be taken in and imports the others, to which it comes again by `stoa sync`"},
		{inspect.ErrDump, ""},
	} {
		if errors.Is(err, known.is) {
			return &Failure{ExitBad, err, known.hint}
		}
	}
	code, hint := rpc.Explain(err)
	return &Failure{code, err, hint}
}

// Print writes the failure to stderr, as text or as one line of JSON.
func (f *Failure) Print(p *Process) {
	if f.Err == nil {
		return
	}
	if p.JSON {
		line, _ := json.Marshal(struct { // strings and a number always marshal
			Error string `json:"error"`
			Exit  int    `json:"exit"`
			Hint  string `json:"hint,omitempty"`
		}{f.Err.Error(), f.Code, f.Hint})
		fmt.Fprintf(p.Stderr, "%s\n", line)
		return
	}
	fmt.Fprintf(p.Stderr, "stoa: %v\n", f.Err)
	if f.Hint != "" {
		fmt.Fprintf(p.Stderr, "      %s\n", f.Hint)
	}
}

// DamageFound returns the failure of a command that has found damage; nil if n is 0.
func DamageFound(n int, noun, what string) error {
	if n == 0 {
		return nil
	}
	return Fail(ExitDamage, fmt.Errorf("%s %s", Count(n, noun), what), "`stoa verify` says more; "+MendHint)
}

// CannotOpen gives an error of opening its exit code, which is that of damage
// where there is some.
func CannotOpen(err error) error {
	f := *Explain(err)
	switch {
	case errors.Is(err, rocks.ErrOptions), errors.Is(err, server.ErrOptions), errors.Is(err, socket.ErrOptions), errors.Is(err, blob.ErrOptions), errors.Is(err, rpc.ErrSocketPath), errors.Is(err, engine.ErrPlace):
		f.Code = ExitBad
	case !errors.Is(err, engine.ErrCorrupt):
		f.Code = ExitOpen
	}
	switch {
	case errors.Is(err, engine.ErrNoSpace):
		f.Hint = "free some disk space, or lower --min-free"
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "serve as the user who owns the directory, or name another one with --dir"
	case errors.Is(err, engine.ErrUnsupported):
		f.Hint = "--engine mem works without RocksDB"
	}
	return &f
}
