package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// VerifyOptions say how much Verify checks. The zero VerifyOptions are the fast
// checks.
type VerifyOptions struct {
	// Full adds what follows references from row to row and hashes content.
	Full bool
	// Building takes a store that is being built for a whole one.
	Building bool
	// Progress is told of every few thousand rows, how many more; nil: nobody.
	Progress func(rows uint64)
	// Step is told what is being done, which is one of the phases of the split or the
	// rows of a column, and how much of all is; all is 0 where that is not known. nil:
	// nobody.
	Step func(what string, done, all uint64)
	// Now is the clock by which a split tells what took how long; nil: there is none.
	Now func() time.Time
}

// Verdict is what Verify has found.
type Verdict struct {
	Store    Facts             `json:"store"`
	Full     bool              `json:"full"`
	Rows     uint64            `json:"rows"`
	Findings uint64            `json:"findings"`
	Codes    map[string]uint64 `json:"codes"`           // findings by code
	Notes    []string          `json:"notes,omitempty"` // what is no damage, and worth to know
	Split    []Spent           `json:"split,omitempty"` // what the phases have taken
}

// Verify reads every row of s and calls visit with every finding, in the order of
// columns and keys. It goes on behind damage as far as it can. Its error is what
// kept it from looking, or of visit.
func Verify(ctx context.Context, s *Source, o VerifyOptions, visit func(Finding) error) (*Verdict, error) {
	v := &verifier{source: s, visit: visit, building: o.Building, step: o.Step, watch: watch{now: o.Now}, out: &Verdict{Store: s.Facts, Full: o.Full, Codes: map[string]uint64{}}}
	v.walker = &walker{ctx: ctx, progress: func(rows uint64) {
		v.out.Rows += rows
		if o.Progress != nil {
			o.Progress(rows)
		}
	}}
	if v.step == nil {
		v.step = func(string, uint64, uint64) {}
	}
	v.store()
	v.begin(phaseTables)
	if err := v.tables(); err != nil {
		return nil, err
	}
	for c := range column.All {
		if err := v.column(c, o.Full); err != nil {
			return nil, err
		}
	}
	if err := v.report(); err != nil {
		return nil, err
	}
	v.out.Split = v.watch.split()
	return v.out, v.failed
}

// verifier is a verification under way.
type verifier struct {
	*walker
	source *Source
	visit  func(Finding) error
	// building: the store is being built, by whoever verifies it
	building bool
	step     func(what string, done, all uint64)
	watch    watch
	out      *Verdict
	failed   error // of visit

	clockTold bool            // that the clock of package dag is damaged
	unknown   map[string]bool // collections of which it was noted that they are not known
}

// begin enters a phase, and tells whoever waits.
func (v *verifier) begin(phase string) {
	v.watch.enter(phase)
	v.step(phase, 0, 0)
}

// row is a row that parses.
type row struct {
	info       keys.Info
	key, value []byte // valid until the check returns
}

// check looks at the rows of a column that parse, in the order of their keys.
type check interface {
	row(r row) error
	// end comes after the last row.
	end() error
}

// found reports a finding.
func (v *verifier) found(code string, col column.Column, key []byte, reason string, args ...any) error {
	if len(args) > 0 {
		reason = fmt.Sprintf(reason, args...)
	}
	v.out.Findings++
	v.out.Codes[code]++
	if v.failed == nil {
		v.failed = v.visit(NewFinding(code, col, key, reason))
	}
	return v.failed
}

// store reports what was found at open.
func (v *verifier) store() {
	f := &v.source.Facts
	if f.Unfinished != "" && !v.building {
		_ = v.found("unfinished", 0, nil, "%s", f.unfinished())
	}
	if f.Lost > 0 {
		_ = v.found("lost", 0, nil, "%d changes that had been on disk are gone", f.Lost)
	}
	if f.Cut != "" {
		_ = v.found("manifest-cut", 0, nil, "%s", f.Cut)
	}
	for _, table := range f.Unlisted {
		_ = v.found("table-unlisted", 0, nil, "%s", table)
	}
	for _, log := range f.Logs {
		_ = v.found("log-cut", 0, nil, "%s", log)
	}
	for _, left := range f.Left {
		_ = v.found("left", 0, nil, "%s; a start for writing puts what is there aside", left)
	}
	for _, problem := range f.Problems {
		_ = v.found("marks", 0, nil, "%s", problem)
	}
	for _, u := range f.Unknown {
		_ = v.found("schema", 0, nil, "%s", u)
	}
	if len(f.Kept) > 0 {
		v.out.Notes = append(v.out.Notes, "what a start after a power loss has left is in "+strings.Join(f.Kept, ", ")+": see `stoa wal dump FILE`; delete it when nobody wants it")
	}
	if f.Sealed && !f.Opened {
		v.out.Notes = append(v.out.Notes, "the secrets are sealed, and their key was not given: their values were not looked at")
	}
}

func (v *verifier) column(c column.Column, full bool) error {
	var active []check
	var does []string // the phase of each
	for _, k := range checks {
		if k.column == c && (full || !k.full) {
			active, does = append(active, k.begin(v)), append(does, k.phase)
		}
	}
	v.watch.enter(phaseRows)
	v.step("rows of "+c.String(), 0, 0)
	err := v.walkAround(v.source, c, func(key, value []byte) error {
		info, ok, err := v.parse(c, key, value)
		if err != nil || !ok {
			return err
		}
		for i, k := range active {
			v.watch.enter(does[i])
			if err := k.row(row{info, key, value}); err != nil {
				return err
			}
		}
		v.watch.enter(phaseRows)
		return nil
	}, func(after, before []byte, err error) {
		_ = v.found("unreadable", c, after, "%s", gap(after, before, err))
	})
	for i, k := range active {
		if err == nil {
			v.watch.enter(does[i])
			err = k.end()
		}
	}
	switch {
	case errors.Is(err, rpc.ErrSecret):
		v.out.Notes = append(v.out.Notes, c.String()+" was not looked at: the daemon does not show its secrets to this user")
		return nil
	case errors.Is(err, engine.ErrSchema): // it is among what is unknown
		return nil
	}
	return err
}

// parse checks that a row is one of the schema, in the form that it has there.
func (v *verifier) parse(c column.Column, key, value []byte) (info keys.Info, ok bool, err error) {
	if info, err = keys.Identify(c, key); err != nil {
		return info, false, v.found("key", c, key, "%s", err)
	}
	if err := keys.CheckKey(c, key); err != nil {
		return info, false, v.found("scope", c, key, "%s", err)
	}
	if id := sealedWith(c, key, value); id != "" {
		if !v.source.Facts.Sealed {
			return info, false, v.found("sealed", c, key, "sealed with key %s in a store that seals nothing", id)
		}
		return info, false, nil // without the key there is nothing to see
	}
	if info.Secret && v.source.Facts.Sealed && !v.source.Facts.Opened {
		return info, false, v.found("plain-secret", c, key, "a secret that is not sealed in a store that seals them")
	}
	if err := keys.Check(c, key, value); err != nil {
		return info, false, v.found("value", c, key, "%s", err)
	}
	return info, true, nil
}

// get returns the value under k. A row that is not there, or does not parse,
// which is reported where it stands, is not ok.
func get[K keys.Key[K, V], V codec.Value[V]](v *verifier, k K) (value V, ok bool, err error) {
	value, err = engine.Get(v.source, k)
	if errors.Is(err, engine.ErrNotFound) || isDamage(err) || errors.Is(err, rpc.ErrSecret) {
		return value, false, nil
	}
	return value, err == nil, err
}

// has reports whether something is stored under k. What cannot be read counts: it
// is reported where it stands.
func has[K keys.Key[K, V], V codec.Value[V]](v *verifier, k K) (bool, error) {
	there, err := engine.Has(v.source, k)
	if isDamage(err) {
		return true, nil
	}
	return there, err
}
