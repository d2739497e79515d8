package dag

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Phase is a part of the work of Verify.
type Phase string

// The phases of [Store.Verify], which come more than once.
const (
	PhaseTrie    Phase = "trie"    // the rows of the trie, hashed up to the root
	PhaseDeltas  Phase = "deltas"  // reading them in the order of application
	PhaseReplay  Phase = "replay"  // applying them again
	PhaseCompare Phase = "compare" // what they make, and what is stored
	PhaseWaiting Phase = "waiting" // stray deltas, and rows of what waits
)

// VerifyOptions say how a context is verified. Scratch is needed.
type VerifyOptions struct {
	// Scratch returns an empty engine to replay in, which then is Verify's, and what
	// gives it back. It is called once, and again if something differs or the context
	// was seeded: then the replay takes as much as the context does, as engine/mem
	// several times that; else about a quarter.
	Scratch func() (replay engine.Engine, done func() error, err error)
	// Step is told when a phase begins, and how many deltas of all have been
	// replayed; nil: nobody is.
	Step func(p Phase, done, all uint64)
}

// Verify replays a context from its deltas, and if it was seeded from the state at
// its base, and compares what they make with what is stored: every root, the heads,
// and every row of the state, the order, the newest versions and the trie. The Report
// lists all differences; an error says that Verify could not go on: ErrNoContext,
// ErrAdopting, ErrClosed, that of ctx or of Scratch, or one of an engine other than
// engine.ErrCorrupt.
//
// It needs a state of the store until it returns, and changes nothing.
func (s *Store) Verify(ctx context.Context, id codec.ContextID, o VerifyOptions) (Report, error) {
	v := verifier{ctx: ctx, s: s, o: o, report: Report{Context: id}}
	err := s.view(func(r engine.Reader) error {
		v.past = history{r: r, context: id}
		return v.run()
	})
	return v.report, err
}

// verifier is a verification under way.
type verifier struct {
	ctx    context.Context
	s      *Store
	o      VerifyOptions
	past   history
	report Report
	last   uint64 // number of the last delta

	replay engine.Engine
	lean   *lean  // replay, if it is lean
	again  *Store // of replay
}

// step begins a phase.
func (v *verifier) step(p Phase) {
	if v.o.Step != nil {
		v.o.Step(p, v.report.Deltas, v.last)
	}
}

func (v *verifier) run() error {
	meta, row, err := v.past.open()
	if err != nil {
		return v.damage(err)
	}
	v.report.Root, v.report.Base = meta.RootHash, row.base.id
	if v.last, err = v.past.last(); err != nil {
		return v.damage(err)
	}
	if older, err := isOlder(v.past.r, &v.past.context); older || err != nil {
		if err == nil {
			v.report.find(Finding{Code: FindingUnproved, Detail: "an older build wrote its rows, which a daemon makes anew when it opens the store: verify it then"})
		}
		return err
	}
	v.step(PhaseTrie)
	leaves := newRowSum()
	r, trie := withoutTail(v.past.r, v.s.options.Cache, v.past.context)
	if trie == nil {
		v.past.r = r
		trie = merkle.Check(r, v.past.context, meta.RootHash, leaves.leaf)
	}
	if trie != nil && !errors.Is(trie, engine.ErrCorrupt) {
		return trie
	}
	on, err := false, errNotLean
	if trie == nil && !row.seeded() {
		before := v.report
		if on, err = v.replayed(&meta, &row, &leaves); errors.Is(err, engine.ErrCorrupt) { // what is read of the past
			err = errNotLean
		}
		if errors.Is(err, errNotLean) {
			v.report = before
		}
	}
	if trie != nil {
		v.report.find(Finding{Code: FindingTrie, Detail: trie.Error()})
	}
	if errors.Is(err, errNotLean) {
		on, err = v.replayed(&meta, &row, nil)
	}
	if !on || err != nil {
		return err
	}
	v.step(PhaseWaiting)
	if err := v.stored(); err != nil {
		return err
	}
	return v.waiting()
}

// replayed replays the context and compares what comes of it with what is stored. It
// reports whether it came so far. With the leaves of the trie, which has been shown
// to be that of the root, it does so in a lean engine, and returns errNotLean for
// the first difference.
func (v *verifier) replayed(meta *codec.ContextMetaValue, row *contextRow, leaves *rowSum) (on bool, err error) {
	scratch, done, err := v.o.Scratch()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, done()) }()
	v.replay, v.lean = scratch, nil
	if leaves != nil {
		v.lean = &lean{Engine: scratch, past: &v.past}
		v.replay = v.lean
	}
	o := v.s.options
	o.CutBudget = math.MaxInt
	o.MaxPending, o.MaxPendingBytes = math.MaxInt32, math.MaxInt64
	if o.Now, err = v.clock(); err != nil {
		return false, err
	}
	if v.again, err = Open(v.replay, o); err != nil {
		return false, err
	}
	defer v.again.Close()
	if err := v.again.CreateContext(v.past.context, meta.Application); err != nil {
		return false, err
	}
	if on, err := v.seed(row); !on || err != nil {
		return false, err
	}
	if err := v.deltas(row); err != nil {
		return false, err
	}
	v.step(PhaseCompare)
	return true, v.outcome(meta, row, leaves)
}

// holds returns errNotLean if a lean replay has found something.
func (v *verifier) holds() error {
	if v.lean != nil && len(v.report.Findings) > 0 {
		return errNotLean
	}
	return nil
}

// clock returns a clock to which no applied delta is early.
func (v *verifier) clock() (func() time.Time, error) {
	latest := hlc.ToNTP64(v.s.clock.Now())
	err := each(v.past.r, engine.Prefixed(contextPrefix(nil, orderScope, &v.past.context)), func(_, value []byte) error {
		if row, ok := parseOrder(value); ok {
			latest = max(latest, hlc.NTP64(row.hlc.Time))
		}
		return v.ctx.Err()
	})
	now := latest.Time().Add(time.Millisecond)
	return func() time.Time { return now }, v.damage(err)
}

// damage makes a finding of an error that says that something is damaged, and
// returns any other.
func (v *verifier) damage(err error) error {
	if !errors.Is(err, engine.ErrCorrupt) {
		return err
	}
	v.report.find(Finding{Code: FindingDamaged, Detail: err.Error()})
	return nil
}

// seed begins the replay with the state at the base. It reports whether the replay
// can go on.
func (v *verifier) seed(row *contextRow) (on bool, err error) {
	if !row.seeded() {
		return true, nil
	}
	x := lease{past: v.past, seeded: row.base, first: 1, last: v.last}
	if x.base, err = v.past.order(1); err == nil && x.base.id != row.base.id {
		err = damagedRow(column.Generic, orderKey(nil, &v.past.context, 1), "not the base of the context")
	}
	if err == nil {
		_, err = v.again.Seed(v.ctx, v.past.context, x.baseParts(), SeedOptions{})
	}
	if err == nil {
		return true, nil
	}
	if errors.Is(err, ErrSnapshot) {
		v.report.find(Finding{Code: FindingBase, Delta: row.base.id, Detail: err.Error()})
	} else if err := v.damage(err); err != nil {
		return false, err
	}
	v.report.find(Finding{Code: FindingUnproved, Delta: row.base.id, Detail: "the state at the base can't be made again, nor what follows it"})
	return false, nil
}

// baseParts yields the parts of a snapshot without its deltas.
func (x *lease) baseParts() iter.Seq2[*SnapshotPart, error] {
	return func(yield func(*SnapshotPart, error) bool) {
		at := resumePoint{phase: phaseState}
		p, err := x.start(at)
		for err == nil && p.Kind != PartDeltas && p.Kind != PartEnd {
			if !yield(p, nil) {
				return
			}
			p, err = x.part(&at)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(&SnapshotPart{Kind: PartEnd, RowCount: at.rows}, nil)
	}
}

// maxOffered is how many bytes of deltas, as they travel, are replayed at once; a
// single delta may be larger.
const maxOffered = 8 << 20

// deltas replays the deltas in the order in which they were applied. It goes from
// row to row: a damaged key may hold any number.
func (v *verifier) deltas(row *contextRow) error {
	want := uint64(1)
	if row.seeded() {
		want = 2
	}
	var offers []Offer
	var places []placed
	size, gone := 0, uint64(0)
	flush := func() error {
		err := v.offer(offers, places)
		offers, places, size = offers[:0], places[:0], 0
		return err
	}
	rg := engine.Prefixed(contextPrefix(nil, orderScope, &v.past.context))
	rg.Start = orderKey(nil, &v.past.context, want)
	v.step(PhaseDeltas)
	err := each(v.past.r, rg, func(key, value []byte) error {
		if err := v.s.ended(v.ctx); err != nil {
			return err
		}
		seq, ok := orderSeq(key)
		if !ok || seq != want {
			_ = v.damage(damagedRow(column.Generic, key, fmt.Sprintf("not number %d in the order", want))) // a finding
		}
		if !ok {
			return nil
		}
		want = seq + 1
		o, err := v.past.orderOf(seq, key, value)
		if err == nil && o.gone() {
			gone++
			if err := flush(); err != nil {
				return err
			}
			return v.again.skip(v.past.context, o.id)
		}
		if err == nil {
			var d *Delta
			if d, err = v.past.delta(o.id); err == nil {
				offers, places = append(offers, Offer{Delta: d}), append(places, placed{seq, o.id})
				size += d.size()
			}
		}
		if err := v.damage(err); err != nil {
			return err
		}
		if len(offers) < maxGroup && size < maxOffered {
			return nil
		}
		err = flush()
		v.step(PhaseDeltas)
		return err
	})
	if gone != row.withdrawn && err == nil {
		err = damagedRow(column.Generic, contextRowKey(nil, &v.past.context), fmt.Sprintf("%d numbers without a delta, where there are %d", row.withdrawn, gone))
	}
	if err := v.damage(err); err != nil {
		return err
	}
	return flush()
}

// placed is a row of the order: the number and the id of a delta.
type placed struct {
	seq uint64
	id  codec.DeltaID
}

// offer replays deltas, which stand in those places.
func (v *verifier) offer(offers []Offer, places []placed) error {
	v.step(PhaseReplay)
	answers, err := v.again.AddMany(v.ctx, offers, engine.WAL)
	for i, a := range answers {
		if a.ID != places[i].id {
			v.report.find(Finding{Code: FindingDelta, Delta: places[i].id, Detail: fmt.Sprintf("its bytes have the id %s", a.ID)})
		}
		switch {
		case a.Kind == Applied:
			v.report.Deltas++
		case a.Kind == Duplicate:
			v.report.find(Finding{Code: FindingOrder, Column: column.Generic, Key: orderKey(nil, &v.past.context, places[i].seq), Delta: a.ID,
				Detail: "a second place of a delta"})
		case a.Refusal != nil:
			v.report.find(Finding{Code: FindingRefused, Delta: a.ID, Detail: a.Refusal.Error()})
		default:
			v.report.find(Finding{Code: FindingUnproved, Delta: a.ID, Detail: "the replay says " + a.Kind.String() + ": a delta before it is missing"})
		}
	}
	if err != nil {
		return err
	}
	return v.holds()
}

// outcome compares what the replay has made with what is stored; leaves are given to
// a lean one.
func (v *verifier) outcome(meta *codec.ContextMetaValue, row *contextRow, leaves *rowSum) error {
	info, err := v.again.Context(v.past.context)
	if err != nil {
		return err
	}
	v.report.Replayed = info.Root
	if info.Root != meta.RootHash {
		v.report.find(Finding{Code: FindingRoot, Column: column.Meta, Key: v.past.context[:],
			Detail: fmt.Sprintf("it says %s, the deltas make %s", meta.RootHash, info.Root)})
	}
	if !slices.Equal(info.Heads, meta.DagHeads) {
		v.report.find(Finding{Code: FindingHeads, Column: column.Meta, Key: v.past.context[:],
			Detail: fmt.Sprintf("it says %s, the deltas make %s", meta.DagHeads, info.Heads)})
	}
	id := &v.past.context
	v.again.endTail(v.ctx, *id)
	for _, part := range []struct {
		code   FindingCode
		column column.Column
		prefix []byte
	}{
		{FindingState, column.State, id[:]},
		{FindingVersion, column.Generic, contextPrefix(nil, goneScope, id)},
		{FindingVersion, column.Generic, contextPrefix(nil, lateScope, id)},
		{FindingVersion, column.Generic, merkle.KeyPrefix(nil, id)},
		{FindingOrder, column.Generic, contextPrefix(nil, orderScope, id)},
		{FindingSeq, column.Generic, contextPrefix(nil, seqScope, id)},
		{FindingHeads, column.Generic, contextPrefix(nil, headScope, id)},
		{FindingSeeded, column.Generic, contextPrefix(nil, seededScope, id)},
	} {
		if info.Applied+row.withdrawn != v.last && (part.code == FindingOrder || part.code == FindingSeq) {
			continue // a delta is missing in the replay, and all numbers after it differ
		}
		if v.past.whole && part.code == FindingHeads {
			continue // it has no such rows yet
		}
		if v.lean != nil && part.code == FindingState {
			continue // it has no such rows
		}
		if err := v.compare(part.code, part.column, part.prefix); err != nil {
			return err
		}
	}
	if v.lean == nil {
		return nil
	}
	if err := v.same(leaves); err != nil {
		return err
	}
	return v.holds()
}

// compare finds the rows that differ, by their keys.
func (v *verifier) compare(code FindingCode, col column.Column, prefix []byte) error {
	have, err := v.past.r.Iterate(col, engine.Prefixed(prefix))
	if err != nil {
		return err
	}
	defer have.Close()
	want, err := v.replay.Iterate(col, engine.Prefixed(prefix))
	if err != nil {
		return err
	}
	defer want.Close()
	find := func(it *engine.Iterator, detail string) {
		v.report.find(Finding{Code: code, Column: col, Key: bytes.Clone(it.Key()), Detail: detail})
	}
	for h, w := have.Next(), want.Next(); h || w; v.report.Rows++ {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		order := 0
		if h && w {
			order = bytes.Compare(have.Key(), want.Key())
		}
		switch {
		case !w || order < 0 && h:
			find(have, "the deltas make no such row")
			h = have.Next()
		case !h || order > 0:
			find(want, "the row is missing")
			w = want.Next()
		default:
			if !bytes.Equal(have.Value(), want.Value()) {
				find(have, "the deltas make another value")
			}
			h, w = have.Next(), want.Next()
		}
	}
	if err := v.damage(have.Err()); err != nil {
		return err
	}
	return want.Err()
}

// stored looks at the deltas that are there, beside the numbers of those that are
// applied, which stand in the same order.
func (v *verifier) stored() error {
	id := &v.past.context
	numbers, err := v.past.r.Iterate(column.Generic, engine.Prefixed(contextPrefix(nil, seqScope, id)))
	if err != nil {
		return err
	}
	defer numbers.Close()
	more := numbers.Next()
	for e, err := range engine.Scan[keys.ContextDagDelta, codec.ContextDagDeltaValue](v.past.r, keys.DeltasOf(*id)) {
		if err == nil {
			err = v.ctx.Err()
		}
		if err != nil {
			return v.damage(err)
		}
		stray := func(detail string) {
			v.report.find(Finding{Code: FindingStray, Column: column.Delta, Key: deltaKey(nil, id, &e.Key.Delta), Delta: e.Key.Delta, Detail: detail})
		}
		if e.Value.DeltaID != e.Key.Delta {
			stray("the row says that it is " + e.Value.DeltaID.String())
		}
		if e.Value.Applied {
			for more && string(numbers.Key()[contextPrefixLen:]) < string(e.Key.Delta[:]) {
				more = numbers.Next()
			}
			if err := numbers.Err(); err != nil {
				return v.damage(err)
			}
			if !more || string(numbers.Key()[contextPrefixLen:]) != string(e.Key.Delta[:]) {
				stray("it is applied, but not in the order")
			}
			continue
		}
		_, waits, err := v.there(pendingKey(nil, indexRow, id, &e.Key.Delta))
		if err := v.damage(err); err != nil {
			return err
		}
		if err == nil && !waits {
			stray("it is neither applied nor waits")
		}
	}
	return nil
}
