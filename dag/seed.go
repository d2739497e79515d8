package dag

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Errors of seeding.
var (
	// ErrSnapshot is returned for a snapshot that does not hold: nothing of it is
	// kept, and the context is as it was. Ask another node.
	ErrSnapshot = errors.New("dag: the snapshot does not hold")
	// ErrNotEmpty is returned by Seed for a context with deltas of its own that is
	// not flagged for it: offer it the deltas that it lacks, or set Replace.
	ErrNotEmpty = errors.New("dag: the context has deltas")
	// ErrSeeding is returned while another call seeds the same context. End that
	// one, or wait for it.
	ErrSeeding = errors.New("dag: the context is being seeded")
)

// SeedOptions say what Seed may replace.
type SeedOptions struct {
	// Replace seeds a context that has deltas although it has not been flagged for
	// it. Those that do not descend from the base are lost to it.
	Replace bool
}

// maxReported is how many deltas of one kind Seeded names.
const maxReported = 1024

// Seeded says what became of a snapshot.
type Seeded struct {
	Adopted  bool            // the snapshot has taken the place of what was there; else deltas have been added to it
	Base     codec.DeltaID   // with which the context begins now; zero: with its first deltas
	Rows     uint64          // of the state at the base
	Deltas   uint64          // of the snapshot that are applied now, without the base
	Refused  []Refusal       // of the snapshot; the first 1,024
	Restored uint64          // of the context's own, from before: applied again, or waiting
	Dropped  []codec.DeltaID // of the context's own: newer than the base, but not descended from it; the first 1,024
}

// SeedProgress is how far a snapshot has been received.
type SeedProgress struct {
	Base   codec.DeltaID // zero: none
	Rows   uint64        // of its state
	Resume []byte        // for [Store.Snapshot] of the same sender
}

// SeedProgress returns how far a snapshot of a context has been received and not
// yet adopted; ok is false if none is being received. It returns ErrClosed,
// engine.ErrCorrupt or the engine's error.
func (s *Store) SeedProgress(id codec.ContextID) (p SeedProgress, ok bool, err error) {
	if err := s.ended(s.ctx); err != nil {
		return p, false, err
	}
	row, err := readSeeding(s.db, &id)
	if err != nil || row == nil {
		return p, false, err
	}
	p.Rows, p.Resume = row.rows, row.resume
	if len(row.base) > 0 {
		d, err := ParseDelta(row.base)
		if err != nil {
			return p, false, damagedRow(column.Generic, contextPrefix(nil, seedingScope, &id), err.Error())
		}
		p.Base = d.ID()
	}
	return p, true, nil
}

// ForgetSeed throws away what has been received of a snapshot and not adopted. It
// returns ErrSeeding, ErrClosed or the engine's error.
func (s *Store) ForgetSeed(id codec.ContextID) error {
	done, err := s.beginSeed(id)
	if err != nil {
		return err
	}
	defer done()
	var b engine.Batch
	deleteSeeding(&b, &id)
	return s.db.Apply(&b)
}

// beginSeed makes sure that a context is seeded by one call at a time, and not
// deleted meanwhile.
func (s *Store) beginSeed(id codec.ContextID) (done func(), err error) {
	if err := s.ended(s.ctx); err != nil {
		return nil, err
	}
	if _, busy := s.seeding.LoadOrStore(id, true); busy {
		return nil, fmt.Errorf("%w: %s", ErrSeeding, id)
	}
	return func() { s.seeding.Delete(id) }, nil
}

// Seed takes over a context from the parts of a snapshot, in the order in which
// [Store.Snapshot] of another node yields them. The context must exist, and have
// no deltas, or be flagged for it (ContextInfo.Reseed), or o.Replace be set.
//
// The state is kept apart until all of it is here and has the root that the base
// expects; then it takes the place of what was there, and the deltas after the base
// are added as any others are. A snapshot with the base that the context has takes
// back that it is flagged. Deltas of the context's own that are newer than the
// base are offered to it again. The process may end at any time: afterwards there is
// the context as it was, or the new one.
//
// When parts end early, with an error or before PartEnd, Seed returns that error
// or io.ErrUnexpectedEOF. What has been received stays: give the Resume of
// [Store.SeedProgress] to the sender, and what it yields to Seed. If it has been adopted
// (Seeded.Adopted), the rest is what Since of any node yields. Other errors: ErrSnapshot,
// ErrNotEmpty, ErrSeeding, ErrNoContext, [*hlc.Early] for a base from ahead of the clock,
// ErrClosed, that of ctx, engine.ErrCorrupt, or the engine's.
func (s *Store) Seed(ctx context.Context, id codec.ContextID, parts iter.Seq2[*SnapshotPart, error], o SeedOptions) (Seeded, error) {
	done, err := s.beginSeed(id)
	if err != nil {
		return Seeded{}, err
	}
	defer done()
	if err := s.resumeAdoption(ctx, id); err != nil {
		return Seeded{}, err
	}
	x := &seeder{s: s, ctx: ctx, id: id, options: o}
	err = x.receive(parts)
	if x.result.Adopted {
		err = errors.Join(err, s.restore(ctx, id, &x.result))
	}
	if errors.Is(err, ErrSnapshot) && !x.result.Adopted {
		var b engine.Batch
		deleteSeeding(&b, &id)
		err = errors.Join(err, s.db.Apply(&b))
	}
	return x.result, err
}

// seeder is a snapshot being received.
type seeder struct {
	s       *Store
	ctx     context.Context
	id      codec.ContextID
	options SeedOptions
	result  Seeded

	row     *seedingRow // nil: PartStart has not come
	base    *Delta      // nil: none
	baseID  codec.DeltaID
	trie    *merkle.Trie // of what has been received of the state
	settled bool         // deltas are to be added to the context: it has been adopted, or need not be
	deltas  uint64
	same    bool // the context has that base: its state need not come again
	lost    bool // a delta of the snapshot was turned away
}

func (x *seeder) receive(parts iter.Seq2[*SnapshotPart, error]) error {
	for part, err := range parts {
		if err == nil {
			err = x.s.ended(x.ctx)
		}
		if err != nil {
			return err
		}
		switch {
		case part.Kind == PartStart && x.row == nil:
			err = x.start(part)
		case x.row == nil || part.Kind == PartStart:
			err = fmt.Errorf("%w: a %s part out of turn", ErrSnapshot, part.Kind)
		case part.Kind == PartRows:
			err = x.rows(part)
		case part.Kind == PartDeltas:
			err = x.add(part)
		case part.Kind == PartEnd:
			return x.end(part)
		default:
			err = fmt.Errorf("%w: a part of %s", ErrSnapshot, part.Kind)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("dag: seed: the parts end before the last one: %w", io.ErrUnexpectedEOF)
}

// start takes the first part: it begins anew, or goes on where it ended.
func (x *seeder) start(part *SnapshotPart) error {
	if part.Context != x.id {
		return fmt.Errorf("%w: it is of context %s", ErrSnapshot, part.Context)
	}
	if err := x.readBase(part.Base); err != nil {
		return err
	}
	if err := x.allowed(); err != nil {
		return err
	}
	row, err := readSeeding(x.s.db, &x.id)
	if err != nil {
		return err
	}
	if row == nil || string(row.base) != string(part.Base) || string(row.resume) != string(part.Resume) {
		row = &seedingRow{root: merkle.EmptyRoot(), base: part.Base, resume: part.Resume}
		var b engine.Batch
		deleteSeeding(&b, &x.id)
		row.put(&b, &x.id)
		b.Durability = engine.WAL
		if err := x.s.db.Apply(&b); err != nil {
			return err
		}
	}
	x.row = row
	x.trie = merkle.Open(x.s.options.Cache, x.s.db, shadow(&x.id), row.root)
	return nil
}

// readBase looks at the base of the snapshot.
func (x *seeder) readBase(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	d, err := ParseDelta(b)
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		return fmt.Errorf("%w: its base: %w", ErrSnapshot, err)
	}
	if d.Context != x.id {
		return fmt.Errorf("%w: its base is of context %s", ErrSnapshot, d.Context)
	}
	x.base, x.baseID = d, d.ID()
	return x.s.clock.Check(d.HLC)
}

// allowed returns an error unless the context may be replaced, or need not be.
func (x *seeder) allowed() error {
	return x.s.view(func(r engine.Reader) error {
		past := history{r: r, context: x.id}
		_, row, err := past.open()
		if err != nil {
			return err
		}
		last, err := past.last()
		if err != nil {
			return err
		}
		switch {
		case x.base == nil && !row.seeded():
			x.settled = true // with its first deltas both begin
		case x.base != nil && row.base.id == x.baseID:
			x.settled, x.same = true, true
		case last > 0 && !row.reseed && !x.options.Replace:
			return fmt.Errorf("%w: %d, and it is not flagged to be seeded again: offer it those of Since, or set Replace", ErrNotEmpty, last)
		}
		return nil
	})
}

// rows keeps a part of the state.
func (x *seeder) rows(part *SnapshotPart) error {
	if x.same {
		x.row.rows += uint64(len(part.Rows))
		return nil
	}
	if x.settled || x.base == nil {
		return fmt.Errorf("%w: state after the deltas, or without a base", ErrSnapshot)
	}
	var b engine.Batch
	b.Durability = engine.WAL
	changes := make([]merkle.Change, len(part.Rows))
	for i, r := range part.Rows {
		if len(r.AppKey) > keys.MaxVariable {
			return fmt.Errorf("%w: an app_key of %d bytes", ErrSnapshot, len(r.AppKey))
		}
		changes[i] = merkle.Change{Key: merkle.HashKey(r.AppKey), Value: merkle.HashValue(r.Value)}
		b.Put(column.Generic, hashedKey(nil, stagingScope, &x.id, &changes[i].Key), appendStateRow(nil, r.AppKey, r.Value))
	}
	merkle.SortChanges(changes)
	if err := x.trie.Update(changes); errors.Is(err, merkle.ErrChanges) {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	} else if err != nil {
		return err
	}
	x.trie.Write(&b)
	x.row.rows += uint64(len(part.Rows))
	x.row.root, x.row.resume = x.trie.Root(), part.Resume
	x.row.put(&b, &x.id)
	if err := x.s.db.Apply(&b); err != nil {
		return err
	}
	x.trie.Written()
	return nil
}

// settle makes the context one that the deltas after the base can be added to.
func (x *seeder) settle() error {
	if x.settled {
		return nil
	}
	if x.base != nil {
		if x.row.root != x.base.ExpectedRoot {
			return fmt.Errorf("%w: its state has the root %s, its base %s expects %s", ErrSnapshot, x.row.root, x.baseID, x.base.ExpectedRoot)
		}
		if err := x.s.clock.Observe(x.base.HLC); err != nil {
			return err
		}
	}
	if err := x.s.adopt(x.id, x.allowed); err != nil {
		return err
	}
	x.settled = true
	x.result.Adopted, x.result.Base, x.result.Rows = true, x.baseID, x.row.rows
	return nil
}

// add offers a part of the deltas to the context.
func (x *seeder) add(part *SnapshotPart) error {
	if err := x.settle(); err != nil {
		return err
	}
	offers := make([]Offer, len(part.Deltas))
	for i, b := range part.Deltas {
		d, err := ParseDelta(b)
		if err == nil && d.Context != x.id {
			err = fmt.Errorf("a delta of context %s", d.Context)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSnapshot, err)
		}
		offers[i].Delta = d
	}
	answers, err := x.s.AddMany(x.ctx, offers, engine.WAL)
	for i, a := range answers {
		x.deltas++
		switch a.Kind {
		case Applied, Duplicate:
			x.result.Deltas++
		case BeforeSnapshot:
			x.lost = true
		case Refused:
			x.result.Refused = report(x.result.Refused, *a.Refusal)
		case TooEarly:
			return fmt.Errorf("dag: seed: %w", &hlc.Early{Stamp: offers[i].Delta.HLC, RetryAfter: a.RetryAfter})
		}
	}
	return err
}

// end takes the last part. Deltas are counted from the first of the snapshot, of one
// that was resumed too: it goes on among the rows, or before the first delta.
func (x *seeder) end(part *SnapshotPart) error {
	if x.row.rows != part.RowCount || x.deltas != part.DeltaCount {
		return fmt.Errorf("%w: %d rows and %d deltas have come, of %d and %d", ErrSnapshot, x.row.rows, x.deltas, part.RowCount, part.DeltaCount)
	}
	if err := x.settle(); err != nil {
		return err
	}
	if x.result.Adopted {
		return nil
	}
	var b engine.Batch
	deleteSeeding(&b, &x.id)
	if err := x.s.db.Apply(&b); err != nil || !x.same || x.lost {
		return err
	}
	// The sender has nothing beside this base: what asked for another seeding was an
	// ancestor of it, or is something that the sender has not applied.
	r := &request{Task: task{synced: true}}
	r.Task.do = func(g *writeGroup) error {
		g.flag(false)
		return nil
	}
	if err := x.s.submit(context.Background(), x.id, r); err != nil {
		return err
	}
	return r.Err
}

// report appends to what a result names, up to its limit.
func report[T any](list []T, v ...T) []T {
	return append(list, v[:min(len(v), maxReported-len(list))]...)
}

// The rows of a snapshot that is being received. They are no part of the context
// until it is adopted.
var (
	seedingScope = keys.MustScope("dag-seeding")
	asideScope   = keys.MustScope("dag-aside")
)

// domainShadow begins what the id of a shadow is the hash of.
const domainShadow = "stoa.seed.v1"

// shadow returns the id under which the trie of a snapshot's state is kept until
// it is adopted. No context has it.
func shadow(id *codec.ContextID) codec.ContextID {
	return sha256.Sum256(append([]byte(domainShadow), id[:]...))
}

// seedingRow is how far a snapshot has been received.
type seedingRow struct {
	rows   uint64     // staged
	root   codec.Hash // of these
	base   []byte     // as a delta travels; empty: none
	resume []byte     // what the sender goes on with
}

// appendBinary appends
//
//	rows u64 LE ‖ root 32 ‖ base, resume: length u32 LE, bytes
func (r *seedingRow) appendBinary(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, r.rows)
	dst = append(dst, r.root[:]...)
	return appendBytes(appendBytes(dst, r.base), r.resume)
}

// readSeeding returns how far a snapshot has been received, nil if none is being
// received.
func readSeeding(g engine.Getter, id *codec.ContextID) (*seedingRow, error) {
	key := contextPrefix(nil, seedingScope, id)
	b, err := g.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := cutter.New("dag-seeding", b)
	r := &seedingRow{rows: c.U64("rows"), root: c.Hash("root"), base: c.Bytes("base"), resume: c.Bytes("resume")}
	if err := c.End(); err != nil {
		return nil, damagedRow(column.Generic, key, err.Error())
	}
	return r, nil
}

func (r *seedingRow) put(b *engine.Batch, id *codec.ContextID) {
	b.Put(column.Generic, contextPrefix(nil, seedingScope, id), r.appendBinary(nil))
}

// deleteSeeding puts into b the removal of all that has been received of a
// snapshot.
func deleteSeeding(b *engine.Batch, id *codec.ContextID) {
	b.Delete(column.Generic, contextPrefix(nil, seedingScope, id))
	deleteRange(b, column.Generic, contextPrefix(nil, stagingScope, id))
	merkle.Delete(b, shadow(id))
}

// asideKey appends the key of a delta of the context from before it was seeded,
// which is to be offered to it again, parents first:
//
//	context_id 32 ‖ time u64 BE ‖ delta_id 32  →  the delta as it travels
func asideKey(dst []byte, context *codec.ContextID, time uint64, id *codec.DeltaID) []byte {
	dst = binary.BigEndian.AppendUint64(contextPrefix(dst, asideScope, context), time)
	return append(dst, id[:]...)
}
