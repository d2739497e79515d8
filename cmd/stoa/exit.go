package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// Exit codes.
const (
	exitOK       = 0
	exitBad      = 1 // usage or bad input
	exitDamage   = 2 // damage found
	exitOpen     = 3 // cannot open, or no daemon
	exitNotFound = 4
	exitRefused  = 5 // refused, or a conflict
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

// explain returns the failure that err is, or what its sentinel says of it.
func explain(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	if code, refused := kvExit(err); refused {
		return &failure{code, err, ""}
	}
	for _, known := range sentinels() {
		if errors.Is(err, known.is) {
			return &failure{known.code, err, known.hint}
		}
	}
	return &failure{exitBad, err, ""}
}

// mendHint says what there is to do about damage.
const mendHint = "`stoa restore BACKUP DIR --replace` puts a backup in its place, `stoa salvage` copies what can be read"

// sentinels are the errors of other packages and what they mean for the exit
// code. The first that fits counts.
func sentinels() []struct {
	is   error
	code int
	hint string
} {
	return []struct {
		is   error
		code int
		hint string
	}{
		{rpc.ErrNoDaemon, exitOpen, "start one with `stoa serve`, or name its socket with --socket"},
		{rpc.ErrRefused, exitOpen, ""},
		{rpc.ErrSocketPath, exitBad, ""},
		{rpc.ErrUnavailable, exitOpen, "the daemon went away: a write under way may or may not have been made"},
		{rpc.ErrBusy, exitRefused, "the daemon has too much to do at once: try again"},
		{rpc.ErrSecret, exitRefused, "`stoa serve --secret-peers` says who may read secrets"},
		{rpc.ErrBound, exitRefused, ""},
		{kv.ErrNoSpace, exitNotFound, "`stoa kv tenants list` lists those that are here"},
		{rpc.ErrOwned, exitRefused, "`stoa blob`, `context`, `dag`, `kv`, `namespace` and `group` write them; `stoa serve --raw` lets others, for repair"},
		{dag.ErrNoContext, exitNotFound, "`stoa context list` lists those that are here"},
		{dag.ErrExists, exitRefused, ""},
		{dag.ErrNoDelta, exitNotFound, ""},
		{dag.ErrAdopting, exitRefused, ""},
		{hlc.ErrAhead, exitRefused, "`stoa dag clock` says more, and confirms that the system clock is right"},
		{hlc.ErrJumped, exitRefused, "`stoa dag clock` says more, and confirms that the system clock is right"},
		{merkle.ErrRootGone, exitRefused, "the context has changed meanwhile: try again"},
		{merkle.ErrPeer, exitRefused, ""},
		{dag.ErrRefused, exitBad, ""},
		{dag.ErrPosition, exitRefused, "the context was seeded again: begin anew"},
		{dag.ErrSnapshot, exitRefused, "ask another node"},
		{dag.ErrNotEmpty, exitRefused, "--replace seeds it all the same"},
		{dag.ErrSeeding, exitRefused, ""},
		{hlc.ErrEarly, exitRefused, ""},
		{namespace.ErrNoNamespace, exitNotFound, "`stoa namespace list` lists those that are here"},
		{namespace.ErrNoGroup, exitNotFound, "`stoa namespace tree` lists the groups of a namespace"},
		{namespace.ErrNoContext, exitNotFound, ""},
		{namespace.ErrNoOp, exitNotFound, ""},
		{namespace.ErrNoIdentity, exitNotFound, "`stoa namespace identity --new` makes one"},
		{namespace.ErrNoSigningKey, exitNotFound, ""},
		{namespace.ErrIdentityExists, exitRefused, ""},
		{namespace.ErrNoKey, exitRefused, "synchronize with a member who has it"},
		{namespace.ErrContextTaken, exitRefused, "on the node that created the context run `stoa context place CONTEXT GROUP`, and give `stoa group register` what it prints with --placement"},
		{namespace.ErrNotPlaced, exitBad, "on the node that created the context `stoa context place CONTEXT GROUP` prints one"},
		{namespace.ErrNoContextKey, exitNotFound, "the node that created the context has it"},
		{namespace.ErrNotEffective, exitRefused, conceptsHint},
		{namespace.ErrNotInvited, exitBad, "`stoa namespace invite` prints an invitation, `stoa namespace join` makes a request of it, `stoa namespace admit` takes that"},
		{namespace.ErrExpired, exitRefused, "ask for another invitation"},
		{namespace.ErrNotDue, exitRefused, "only members hold the key that is current; a member whose machine was stolen is removed, which makes a new one: `stoa group remove`; " + conceptsHint},
		{namespace.ErrBehind, exitRefused, "begin anew"},
		{namespace.ErrUneven, exitRefused, ""},
		{blob.ErrInUse, exitRefused, "--force deletes it all the same"},
		{rpc.ErrInternal, exitRefused, "the daemon's log says more"},
		{inspect.ErrDamagedRow, exitBad, "--skip-damaged lists such rows and imports the others"},
		{inspect.ErrMissingOp, exitBad, "--skip-damaged lists what cannot be taken in and imports the others, to which it comes again by `stoa namespace sync`"},
		{inspect.ErrDump, exitBad, ""},
		{engine.ErrCorrupt, exitDamage, "`stoa verify` says more; " + mendHint},
		{engine.ErrLocked, exitOpen, "stop that process, or serve another directory with --dir"},
		{engine.ErrSchema, exitOpen, "`stoa inspect`, `stoa export` and what takes --offline read it without a daemon"},
		{engine.ErrNotDatabase, exitOpen, "name a directory of the store, or one that is new, with --dir"},
		{engine.ErrPlace, exitBad, ""},
		{engine.ErrNotFound, exitNotFound, ""},
		{engine.ErrConflict, exitRefused, "read the record again, and retry with what is stored now"},
		{engine.ErrReadOnly, exitRefused, "`stoa status` says why; once that is mended, `stoa reopen`"},
		{engine.ErrNoSpace, exitRefused, "free some disk space: writes resume by themselves"},
		{engine.ErrUnsupported, exitRefused, ""},
		{engine.ErrClosed, exitOpen, ""},
		{context.DeadlineExceeded, exitOpen, "the daemon did not answer in time: --timeout gives it longer"},
		{syscall.ENOSPC, exitOpen, "free some disk space"},
		{fs.ErrPermission, exitOpen, ""},
	}
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
