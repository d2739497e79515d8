package namespace

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// batch is what requests about one namespace write together.
type batch struct {
	s *Store
	p *writeQueue
	c *loaded

	rows    engine.Batch
	view    engine.Overlay               // the store with rows on top
	homes   map[codec.ContextID]struct{} // contexts whose groups or counters may have changed
	anew    bool                         // what is stored of those does not count
	taken   int                          // ops
	fresh   map[codec.OpID]*Op           // those of this batch, whole: what is stored may be a skeleton
	answers []*Answer                    // of taken ops, which get their verdicts at the end
	earlier []group.VerdictChange        // by settling before the end
}

// A batch that has reached one of these takes no further request.
const (
	fullBytes = 8 << 20
	fullOps   = 4096 // taken or opened
)

func (s *Store) begin(p *writeQueue) (*batch, error) {
	if p.state == nil {
		c, err := s.load(p.id)
		if err != nil {
			return nil, err
		}
		c.queue = p
		c.share(s.waits)
		c.limit(&s.options)
		p.state = c
		p.current.Store(c)
		p.loaded = true
	}
	return s.newBatch(p, p.state), nil
}

func (s *Store) newBatch(p *writeQueue, c *loaded) *batch {
	b := &batch{s: s, p: p, c: c, fresh: map[codec.OpID]*Op{}, homes: map[codec.ContextID]struct{}{}}
	b.view.Reset(s.db, &b.rows)
	return b
}

// reset empties the rows, which are written.
func (b *batch) reset() {
	b.rows.Reset()
	b.view.Reset(b.s.db, &b.rows)
}

// Do does what a request asks for.
func (b *batch) Do(t task) error { return t(b) }

// Changes is a number that grows with what the batch does.
func (b *batch) Changes() int { return b.rows.Len() + b.taken }

// Full reports whether the batch takes no further request.
func (b *batch) Full() bool { return b.rows.Size() >= fullBytes || b.taken >= b.s.most }

// finish writes the batch, with the ops that have waited for others or a key, and further
// batches as long as some of those are left. After an error the namespace is no longer
// loaded.
func (b *batch) finish() error {
	for written := false; ; written = true {
		err := b.unlock()
		if err == nil {
			err = b.drain()
		}
		if err == nil {
			err = b.write()
		}
		switch {
		case err != nil && written:
			b.p.state = nil
			b.s.options.Log.Error("namespace: ops that have waited could not be judged", "namespace", b.c.id.String(), "error", err)
			return nil // what was asked for is done
		case err != nil:
			b.p.state = nil
			return fmt.Errorf("namespace: %s: %w", b.c.id, err)
		case len(b.c.pending.ready) == 0 && len(b.c.openable) == 0:
			return nil
		}
	}
}

func (b *batch) write() error {
	changed := append(b.earlier, b.c.ledger.Settle()...)
	if b.taken > 0 || len(changed) > 0 {
		if err := b.derive(); err != nil {
			return err
		}
	}
	if b.rows.Len() == 0 && len(b.homes) == 0 {
		return nil
	}
	if err := b.apply(); err != nil {
		return err
	}
	b.answer(changed)
	b.p.notify(changed)
	if fn := b.s.changed.Load(); fn != nil {
		(*fn)(b.p.id)
	}
	b.reset()
	b.taken, b.answers, b.earlier = 0, nil, nil
	clear(b.fresh)
	clear(b.homes)
	return nil
}

// apply writes the rows, with what they make of rows that several namespaces share.
func (b *batch) apply() error {
	if len(b.homes) > 0 || !b.s.claimed.Load() {
		b.s.claiming.Lock()
		defer b.s.claiming.Unlock()
		if err := b.claimAll(); err != nil {
			return err
		}
		if err := b.claim(); err != nil {
			return err
		}
	}
	if b.rows.Len() > 0 {
		if err := b.s.db.Apply(&b.rows); err != nil {
			return err
		}
	}
	b.s.claimed.Store(true)
	return nil
}

// derive puts what follows from the ops into the batch: where all was looked at, only
// what is not so already.
func (b *batch) derive() error {
	rows, whole, err := b.c.ledger.Rows()
	if err != nil {
		return err
	}
	var have []byte
	for _, r := range rows {
		if c, ok := concerns(&r); ok {
			b.homes[c] = struct{}{}
			continue
		}
		if r.All {
			if err := b.dropAll(r, whole); err != nil {
				return err
			}
			continue
		}
		if whole {
			have, err = b.s.db.Get(have[:0], r.Column, r.Key)
			absent := errors.Is(err, engine.ErrNotFound)
			if err != nil && !absent {
				return err
			}
			if absent == (r.Value == nil) && bytes.Equal(have, r.Value) {
				continue
			}
		}
		if r.Value == nil {
			b.rows.Delete(r.Column, r.Key)
		} else {
			b.rows.Put(r.Column, r.Key, r.Value)
		}
	}
	return nil
}

// dropAll deletes all rows that begin with the key of r; with look only if there are any.
func (b *batch) dropAll(r group.RowChange, look bool) error {
	rg := engine.Prefixed(r.Key)
	if look {
		it, err := b.s.db.Iterate(r.Column, rg)
		if err != nil {
			return err
		}
		found := it.Next()
		if err := errors.Join(it.Err(), it.Close()); err != nil || !found {
			return err
		}
	}
	b.rows.DeleteRange(r.Column, rg.Start, rg.End)
	return nil
}

// answer completes the answers to what was taken.
func (b *batch) answer(changed []group.VerdictChange) {
	var others []group.VerdictChange
	for _, c := range changed {
		if c.Old != (group.Verdict{}) {
			others = append(others, c)
		}
	}
	for _, a := range b.answers {
		if i, ok := b.c.ledger.Find(a.ID); ok {
			a.Verdict = b.c.ledger.Verdict(i)
		}
		a.Changed = others
	}
}

// note has the answer to op i, which was taken, be completed at the end.
func (b *batch) note(i int, a *Answer) {
	b.answers = append(b.answers, a)
	if e, ok := b.c.ledger.Equivocation(i); ok {
		a.Equivocation = &e
	}
}

// settle judges what has been taken so far.
func (b *batch) settle() { b.earlier = append(b.earlier, b.c.ledger.Settle()...) }

// put adds an op and its rows to the DAG; read is what it seals, nil if it is not to be
// opened.
func (b *batch) put(op *Op, read *opened, a *Answer) error {
	c := b.c
	if read == nil {
		read = &opened{}
	}
	f := fact{id: op.ID, fault: read.fault}
	if read.body != nil {
		f.seq = c.nextSeq(op.GroupID)
		engine.Put(&b.rows, keys.GroupOpLog{Group: op.GroupID, Seq: keys.NewSeq(f.seq)}, codec.OpLogValue{Op: read.inner})
	}
	whole := !op.sealed() || read.body != nil || read.fault != 0 || !b.s.options.ForgetPayloads
	row, err := storedForm(op, whole)
	if err != nil {
		return err
	}
	engine.Put(&b.rows, keys.NamespaceGovOp{Namespace: c.id, Delta: op.ID}, row)
	if c.ledger.Len() == 0 || op.Version > c.newest() {
		putRules(&b.rows, c.id, op.Version)
	}
	if f.keys, err = b.judgeAtOnce(op); err != nil {
		return err
	}
	i, err := c.add(op, f, read.body, whole)
	if err != nil {
		return err
	}
	b.putFact(i)
	b.taken++
	c.replays.taken++
	b.fresh[op.ID] = op
	a.Kind = Stored
	b.note(i, a)
	return b.judge()
}
