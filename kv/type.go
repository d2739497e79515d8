package kv

import (
	"fmt"

	"github.com/stoadb/stoa/keys"
)

// System says which capability of the host a space belongs to. The zero System has
// no spaces.
type System uint8

// The systems. A number is never given twice.
const (
	SystemStorage System = 1 // kvStorage (package kvstorage)
	SystemRecord  System = 2 // collections of documents (package record), a space each
	SystemLock    System = 3 // locks (package lock)
	SystemSetting System = 4 // configuration (package setting)
	SystemLimit   System = 5 // rate limits (package limit)
	SystemEvent   System = 6 // streams of events (package event)
	SystemJob     System = 7 // queues of jobs (package job)
	SystemBucket  System = 8 // buckets and the contracts that declare them (package bucket)
	SystemStream  System = 9 // streams with durable consumers (package stream)
	SystemTest    System = 255
)

// Type is what the records of a space are. The zero options are the defaults.
type Type struct {
	System System
	Space  string // the name of the space within the system
	// Others says that all spaces of the system that no other type names are of this one,
	// each with rules of its own; Space is empty then.
	Others bool
	// Indexes are kept in the batch of every change.
	Indexes []Index
	// History is how many revisions of each key are kept, deletions included; 0:
	// none but the newest record.
	History int
	// Log is how many changes are kept for watchers, at least; 0: DefaultLog.
	Log int
	// Inline is how many bytes of a value the log holds itself, so that no change of one is
	// left out for a watcher; 0: MaxInline.
	Inline int
	// Last has a deletion and an expiry say what the value was, if that has no more than
	// Inline bytes: to watchers and in the log, where nothing else knows it any more.
	Last bool
	// Changed is called with each change of a record in its batch, before the record is put,
	// expiry included: what it was, whose Kind is 0 where there was none, and what it is. What
	// Changed changes lands with that; an error of it is the batch's. The same holds for it as for Job. nil: nobody
	// is told.
	Changed func(tx *Tx, old, r Record) error
	// Job does what is due; see [Tx.Schedule]. It must not block, as it runs while
	// other writes wait, and may run more than once for one job: only what its last
	// run did to tx counts. If it returns an error nothing of it is written, and it
	// is tried again a second later. nil: jobs that are due are removed.
	Job func(tx *Tx, j Job) error
}

// Index is an index of records. A record is found under each of its terms.
type Index struct {
	Number uint16 // within the type; never reused for other terms
	Name   string // for people
	// Terms returns the terms of a record, in any order. It must be a function of
	// its arguments, which it must not keep nor change.
	Terms func(key, value []byte) [][]byte
	// Keys says that each record has one term, its key: there are no rows of such an
	// index, which reads the records themselves. Terms is nil then.
	Keys bool
}

// check refuses a type that is not well formed.
func (t *Type) check() error {
	if t.System == 0 {
		return invalid("system", "system 0 is the house's own and has no spaces")
	}
	if t.Others {
		if t.Space != "" || t.History != 0 {
			return invalid("space", "a type of all other spaces has no name, and each of them its own history")
		}
	} else if err := checkName("space", t.Space); err != nil {
		return err
	}
	if t.History < 0 || t.History > MaxHistory {
		return invalid("history", "%d revisions of a key; a space keeps 0 to %d", t.History, MaxHistory)
	}
	if t.Log < 0 {
		return invalid("log", "%d changes; a log keeps at least 1, and 0 is %d", t.Log, DefaultLog)
	}
	if t.Inline < 0 || t.Inline > MaxValue {
		return invalid("inline", "%d bytes; a log holds values of 0 to %d itself", t.Inline, MaxValue)
	}
	seen := map[uint16]bool{}
	for _, i := range t.Indexes {
		if seen[i.Number] || (i.Terms == nil) != i.Keys {
			return invalid("indexes", "index %d (%s) is declared twice, or has not one of Terms and Keys", i.Number, i.Name)
		}
		seen[i.Number] = true
	}
	return nil
}

func (t *Type) log() uint64 {
	if t.Log == 0 {
		return DefaultLog
	}
	return uint64(t.Log)
}

func (t *Type) inline() int {
	if t.Inline == 0 {
		return MaxInline
	}
	return t.Inline
}

// String names the type.
func (t *Type) String() string { return fmt.Sprintf("%d/%s", t.System, t.Space) }

// ruled reports whether spaces of the type have rules each; not if it is not declared.
func (t *Type) ruled() bool { return t != nil && t.Others }

// remembers reports whether spaces of the type keep history; not if it is not declared.
func (t *Type) remembers() bool { return t.ruled() || t != nil && t.History > 0 }

// types are those that are declared, by the numbers of their spaces; 0 is that of all others.
type types map[typeKey]*Type

// of returns the type of a space, or nil if it is not declared.
func (t types) of(scope keys.Scope) *Type {
	if found := t[typeKey{System(scope.System()), scope.Space()}]; found != nil {
		return found
	}
	return t[typeKey{system: System(scope.System())}]
}
