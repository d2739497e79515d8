package kv

import (
	"time"

	"github.com/stoadb/stoa/engine"
)

// Snapshot is all spaces as they are at one moment. It holds back the room of what is
// overwritten until it is closed. Any number of goroutines may use it at once.
type Snapshot struct {
	store  *Store
	reader engine.Snapshot
	at     uint64
}

// View returns all spaces as they are now, so that several are read in one state.
func (s *Store) View() (*Snapshot, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	at := s.line.now()
	reader, err := s.db.Snapshot()
	if err != nil {
		return nil, err
	}
	return &Snapshot{s, reader, at}, nil
}

// In returns a space of the store in the state of the snapshot, with which the view is
// closed. Of a space that was made since, or was dropped before, it finds nothing.
func (v *Snapshot) In(s *Space) *View {
	return &View{store: v.store, reader: v.reader, still: true, at: v.at, scope: s.scope, typ: s.typ}
}

// Time is the moment of the snapshot.
func (v *Snapshot) Time() time.Time { return timeOf(v.at) }

// Close gives back what the snapshot holds. Later calls, and those of its views, return
// engine.ErrClosed.
func (v *Snapshot) Close() error { return v.reader.Close() }
