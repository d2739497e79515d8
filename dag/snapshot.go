package dag

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// Snapshot yields what another node needs to take over a context: its base, the
// live state at the base, and the deltas after it, as [Store.Seed] takes them. The
// base is the newest delta, at least Options.BaseAge old, that every other applied
// delta is an ancestor or a descendant of. Where there is none, all deltas follow.
//
// resume is nil, or what a part has as its Resume: then the parts that follow that
// one are yielded, after a PartStart. The state that is sent is held meanwhile, and
// for Options.SnapshotIdle after the last part was taken; it is given back with
// PartEnd. The receiver may keep the parts.
//
// It ends after an error: ErrNoContext, ErrAdopting, ErrSnapshotGone,
// ErrSnapshotsBusy, codec.ErrMalformed for a resume that is none, ErrClosed, that
// of ctx, engine.ErrCorrupt, or the engine's.
func (s *Store) Snapshot(ctx context.Context, id codec.ContextID, resume []byte) iter.Seq2[*SnapshotPart, error] {
	return func(yield func(*SnapshotPart, error) bool) {
		x, at, err := s.lease(ctx, id, resume)
		if err != nil {
			yield(nil, err)
			return
		}
		idle := s.options.SnapshotIdle
		var part *SnapshotPart
		err = x.read(idle, func() error {
			part, err = x.start(at)
			return err
		})
		for {
			if err == nil {
				err = s.ended(ctx)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			more := yield(part, nil)
			if part.Kind == PartEnd {
				s.leases.end(x)
				return
			}
			if !more {
				return
			}
			err = x.read(idle, func() error {
				part, err = x.part(&at)
				return err
			})
		}
	}
}

// lease returns the state that a snapshot is sent from, and where in it to begin.
func (s *Store) lease(ctx context.Context, id codec.ContextID, resume []byte) (*lease, resumePoint, error) {
	if resume != nil {
		at, err := parseResumePoint(resume)
		if err != nil {
			return nil, at, err
		}
		x, err := s.leases.find(at.epoch, at.lease)
		if err == nil && x.past.context != id {
			err = fmt.Errorf("%w: it is of context %s", ErrSnapshotGone, x.past.context)
		}
		return x, at, err
	}
	s.endTail(ctx, id)
	x, err := s.leases.open(s.db, id, s.options.MaxSnapshots, s.options.SnapshotIdle, func(x *lease) error {
		meta, own, err := x.past.open()
		if err == nil {
			x.past.r, err = withoutTail(x.past.r, s.options.Cache, id)
		}
		if err == nil {
			x.seeded = own.base
			x.last, err = x.past.last()
		}
		if err == nil && x.last > 0 {
			x.first, x.base, err = x.past.findBase(ctx, meta.DagHeads, &own, s.baseLimit())
		}
		return err
	})
	if err != nil {
		return nil, resumePoint{}, err
	}
	at := resumePoint{epoch: s.leases.epoch, lease: x.number, phase: phaseState}
	if x.first == 0 {
		at.phase = phaseDeltas
	}
	return x, at, nil
}

// start returns the first part of a stream.
func (x *lease) start(at resumePoint) (*SnapshotPart, error) {
	p := &SnapshotPart{Kind: PartStart, Context: x.past.context, Resume: at.append(nil)}
	if x.first == 0 {
		return p, nil
	}
	d, err := x.past.delta(x.base.id)
	if err == nil {
		p.Base, err = d.AppendBinary(nil)
	}
	return p, err
}

// part returns the part that begins at at, and moves at behind it.
func (x *lease) part(at *resumePoint) (*SnapshotPart, error) {
	p := &SnapshotPart{Kind: PartRows}
	size := 0
	var err error
	if at.phase == phaseState {
		if err = x.untouched(at, p, &size); err == nil && size < partTarget {
			at.phase, at.key, at.seq = phaseTouched, nil, x.first
		}
	}
	if at.phase == phaseTouched && size < partTarget && err == nil {
		if err = x.touched(at, p, &size); err == nil && size < partTarget {
			at.phase, at.seq = phaseDeltas, x.first
		}
	}
	if err != nil {
		return nil, err
	}
	if len(p.Rows) > 0 {
		at.rows += uint64(len(p.Rows))
		p.Resume = at.append(nil)
		return p, nil
	}
	p.Kind = PartDeltas
	for ; at.seq < x.last && size < partTarget; at.seq++ {
		row, err := x.past.order(at.seq + 1)
		if err != nil {
			return nil, err
		}
		if row.gone() {
			continue
		}
		b, err := x.gossip(row.id)
		if err != nil {
			return nil, err
		}
		if size > 0 && size+len(b) > MaxDelta {
			break
		}
		p.Deltas = append(p.Deltas, b)
		size += len(b)
	}
	if len(p.Deltas) > 0 {
		at.deltas += uint64(len(p.Deltas))
		p.Resume = at.append(nil)
		return p, nil
	}
	return &SnapshotPart{Kind: PartEnd, RowCount: at.rows, DeltaCount: at.deltas}, nil
}

// gossip returns the bytes in which an applied delta travels.
func (x *lease) gossip(id codec.DeltaID) ([]byte, error) {
	d, err := x.past.delta(id)
	if err != nil {
		return nil, err
	}
	return d.AppendBinary(nil)
}

// untouched adds the rows of the state that no delta after the base has changed,
// from at on, by app_key.
func (x *lease) untouched(at *resumePoint, p *SnapshotPart, size *int) error {
	rg := engine.Prefixed(x.past.context[:])
	if at.key != nil {
		rg.Start = append(stateKey(nil, &x.past.context, at.key), 0)
	}
	it, err := x.past.r.Iterate(column.State, rg)
	if err != nil {
		return err
	}
	defer it.Close()
	changed, err := x.changedLater()
	if err != nil {
		return err
	}
	for *size < partTarget && it.Next() {
		appKey := append([]byte{}, it.Key()[len(x.past.context):]...)
		at.key = appKey
		if x.first != x.last {
			later, err := changed(merkle.HashKey(appKey))
			if err != nil {
				return err
			}
			if later {
				continue
			}
		}
		if n := len(appKey) + len(it.Value()); *size > 0 && *size+n > MaxDelta {
			at.key = p.Rows[len(p.Rows)-1].AppKey
			*size = partTarget
			break
		}
		p.Rows = append(p.Rows, StateRow{AppKey: appKey, Value: append([]byte{}, it.Value()...)})
		*size += len(appKey) + len(it.Value()) + 8
	}
	return it.Err()
}

// maxLater is how many writes of deltas after the base are kept in mind. Tests change it.
var maxLater = 1 << 18

// changedLater returns what says whether a delta after the base has changed a key. Where there are few, it knows what they
// have written; else it asks for each key.
func (x *lease) changedLater() (func(codec.Hash) (bool, error), error) {
	if x.later == nil && !x.many {
		if err := x.readLater(); err != nil {
			return nil, err
		}
	}
	if !x.many {
		return func(key codec.Hash) (bool, error) { return x.later[key], nil }, nil
	}
	base := stamp{x.base.hlc, x.base.id}
	return func(key codec.Hash) (bool, error) {
		_, later, err := x.past.oldestAfter(&key, &base)
		return later, err
	}, nil
}

// readLater sets later, or many.
func (x *lease) readLater() error {
	keys := map[codec.Hash]bool{}
	for seq := x.first + 1; seq <= x.last; seq++ {
		row, err := x.past.order(seq)
		if err != nil {
			return err
		}
		if x.many = seq-x.first > uint64(maxLater) || len(keys)+len(row.before) > maxLater; x.many {
			return nil
		}
		if row.gone() {
			continue
		}
		d, err := x.past.delta(row.id)
		if err != nil {
			return err
		}
		for i := range d.Actions {
			keys[merkle.HashKey(d.Actions[i].Key)] = true
		}
	}
	x.later = keys
	return nil
}

// touched adds the rows that were live at the base and that deltas after it have
// changed: each with the first delta that did so, from at on, by seq and action.
func (x *lease) touched(at *resumePoint, p *SnapshotPart, size *int) error {
	base := stamp{x.base.hlc, x.base.id}
	for ; at.seq < x.last; at.seq, at.action = at.seq+1, 0 {
		row, err := x.past.order(at.seq + 1)
		if err != nil {
			return err
		}
		if row.gone() {
			continue
		}
		d, err := x.past.delta(row.id)
		if err != nil {
			return err
		}
		for ; int(at.action) < len(d.Actions); at.action++ {
			if *size >= partTarget {
				return nil
			}
			appKey := d.Actions[at.action].Key
			hash := merkle.HashKey(appKey)
			first, _, err := x.past.oldestAfter(&hash, &base)
			if err != nil {
				return err
			}
			if first.id != row.id {
				continue
			}
			value, live, err := x.valueAt(&hash, appKey, &base)
			if err != nil {
				return err
			}
			if !live {
				continue
			}
			if *size > 0 && *size+len(appKey)+len(value) > MaxDelta {
				*size = partTarget
				return nil
			}
			p.Rows = append(p.Rows, StateRow{AppKey: appKey, Value: value})
			*size += len(appKey) + len(value) + 8
		}
	}
	return nil
}

// valueAt returns what a key that has been changed since had at the base.
func (x *lease) valueAt(hash *codec.Hash, appKey []byte, base *stamp) (value []byte, live bool, err error) {
	v, found, err := x.past.newest(hash, base)
	if err != nil || !found || !v.put {
		return nil, false, err
	}
	return x.valueOf(&v, hash, appKey)
}

// valueOf returns the value of a version that is a put and, of the base, has been changed since.
func (x *lease) valueOf(v *version, hash *codec.Hash, appKey []byte) (value []byte, live bool, err error) {
	if v.id == x.seeded.id {
		value, err = readSeeded(x.past.r, &x.past.context, hash)
		return value, err == nil, err
	}
	d, err := x.past.delta(v.id)
	if err != nil {
		return nil, false, err
	}
	for i := range d.Actions {
		if string(d.Actions[i].Key) == string(appKey) {
			return d.Actions[i].Value, true, nil
		}
	}
	return nil, false, damagedRow(column.Delta, deltaKey(nil, &x.past.context, &v.id), "it has not written a key whose version it is")
}

// readSeeded returns a value that the context was seeded with and that has been
// changed since.
func readSeeded(r engine.Getter, id *codec.ContextID, hash *codec.Hash) ([]byte, error) {
	key := hashedKey(nil, seededScope, id, hash)
	b, err := r.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, damagedRow(column.Generic, key, "the row is missing")
	}
	if err != nil {
		return nil, err
	}
	_, value, ok := parseStateRow(b)
	if !ok {
		return nil, damagedRow(column.Generic, key, "no row of the state")
	}
	return value, nil
}

// snapshotPhase is what part of a snapshot a resume point is in.
type snapshotPhase uint8

const (
	phaseState   snapshotPhase = 1 + iota // rows of the state, by app_key
	phaseTouched                          // rows that have been changed since
	phaseDeltas
)

// resumePoint is what Resume says: where the next part begins.
type resumePoint struct {
	epoch, lease uint64
	rows, deltas uint64 // sent before
	phase        snapshotPhase
	seq          uint64 // of the last delta that is done with
	action       uint64 // of the delta after it: how many actions are done with
	key          []byte // of phaseState: the last app_key that is done with; nil: none
}

// append appends the bytes of the resume point, which only this process reads.
func (p *resumePoint) append(dst []byte) []byte {
	dst = append(dst, byte(p.phase))
	for _, n := range []uint64{p.epoch, p.lease, p.rows, p.deltas, p.seq, p.action} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	if p.key != nil {
		dst = append(append(dst, 1), p.key...)
	}
	return dst
}

// parseResumePoint returns the resume point whose bytes are b, or codec.ErrMalformed.
func parseResumePoint(b []byte) (p resumePoint, err error) {
	c := cutter.New("Resume", b)
	p.phase = snapshotPhase(c.U8("phase"))
	if p.phase < phaseState || p.phase > phaseDeltas {
		c.Fail("phase", "unknown")
	}
	for _, n := range []*uint64{&p.epoch, &p.lease, &p.rows, &p.deltas, &p.seq, &p.action} {
		*n = c.U64("numbers")
	}
	if len(c.Rest) > 0 {
		if c.U8("key") != 1 || p.phase != phaseState || len(c.Rest) > maxResume {
			c.Fail("key", "none belongs here")
		}
		p.key = append([]byte{}, c.Take("key", len(c.Rest))...)
	}
	return p, c.End()
}
