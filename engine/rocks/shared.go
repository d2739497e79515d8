//go:build cgo

package rocks

import (
	"fmt"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/rows"
)

// keepRows gives a store its row cache, if it is to have one. Where the system has no memory
// to share it has none that is shared, which Engine.SharedRows says.
func (st *store) keepRows(o *Options) error {
	shared := o.SharedRowBytes
	if st.home == nil {
		shared = 0
	}
	if o.RowCacheBytes == 0 && shared == 0 {
		return nil
	}
	var err error
	if st.rows, err = newRowCache(o.RowCacheBytes, shared); err != nil && shared > 0 {
		o.Logger.Warn("no rows are shared with clients", "error", err)
		st.rows, err = newRowCache(o.RowCacheBytes, 0)
	}
	return err
}

// beginTerm ends the term of whoever had the store open for writing last, so that nobody
// reads rows of it any more, and begins one of rows that st shares. It comes before
// anything is written.
func (st *store) beginTerm() (err error) {
	st.term, err = rows.BeginTerm(st.home.path, st.rows != nil && st.rows.shared != nil)
	return err
}

// lent is the table whose rows are shared; nil: none are.
func (st *store) lent() *rows.Table {
	if st.term == nil || st.rows == nil {
		return nil
	}
	return st.rows.shared
}

// endTerm ends the term: nobody reads shared rows when it has returned. What keeps it
// from being ended keeps the next one from being begun.
func (st *store) endTerm() {
	if st.term != nil {
		_ = st.term.Close()
	}
	if st.ended != nil {
		close(st.ended)
	}
	st.term, st.ended = nil, nil
}

// SharedRowStats says how the rows do that are shared. It returns false where there are none.
func (e *Engine) SharedRowStats() (rows.Stats, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.st == nil || e.st.lent() == nil {
		return rows.Stats{}, false
	}
	return e.st.lent().Stats(), true
}

// SharedRows returns what another process that may read everything is to be handed, so that
// it reads single rows without a call: all but secrets, and what tenants have. It
// returns engine.ErrUnsupported where there is nothing; see Options.SharedRowBytes.
func (e *Engine) SharedRows() (rows.Share, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.st == nil {
		return rows.Share{}, e.down
	}
	table := e.st.lent()
	if table == nil {
		return rows.Share{}, fmt.Errorf("%w: no rows are shared", engine.ErrUnsupported)
	}
	s := rows.Share{Term: e.st.term.Now(), Ended: e.st.ended}
	var err error
	if s.Table, err = table.File(); err != nil {
		return rows.Share{}, fmt.Errorf("engine: shared rows: %w", err)
	}
	if s.Terms, err = e.st.term.Reading(); err != nil {
		s.Table.Close()
		return rows.Share{}, fmt.Errorf("engine: shared rows: %w", err)
	}
	return s, nil
}
