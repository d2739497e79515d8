package kv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Options say how a store runs. The zero Options are the defaults.
type Options struct {
	Types []Type       // of the spaces that there are; [Store.Declare] adds more
	Clock Clock        // nil: SystemClock
	Rand  io.Reader    // nil: crypto/rand. It is read once in the life of an engine.
	Log   *slog.Logger // what the background does; nil: slog.Default
}

// Store is the key-value spaces of one engine. There is one at a time for an
// engine. Any number of goroutines may use it at once.
type Store struct {
	db       engine.Engine
	log      *slog.Logger
	line     timeline
	rand     io.Reader
	notifier notifier
	dues     scheduler

	mu       sync.RWMutex // guards what follows
	secret   []byte       // what cursors are signed with; nil: there is no space yet
	types    types
	declared map[typeName]*Type
	numbers  map[typeName]uint32  // of the declared types that have one
	spaces   map[spaceName]*Space // those that have been asked for; bounded
	drops    uint64               // tenants dropped so far
	ended    bool

	units  sync.Pool
	closed chan struct{}
	done   sync.WaitGroup
}

type typeKey struct {
	system System
	number uint32
}

type typeName struct {
	system System
	name   string
}

// Open returns the store of db, and starts what removes records that have
// expired. It writes nothing: the store's own rows come with the first space.
// It returns engine.ErrCorrupt if a row of the store's own is damaged, or
// ErrInvalidArgument for a type that is not well formed.
func Open(db engine.Engine, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{db: db, log: o.Log, rand: o.Rand, closed: make(chan struct{}), types: types{},
		declared: map[typeName]*Type{}, numbers: map[typeName]uint32{}, spaces: map[spaceName]*Space{}}
	s.line.clock = o.Clock
	s.units.New = func() any { return &unit{store: s} }
	at, err := storeNumber(db, KindTime)
	if err != nil {
		return nil, err
	}
	s.line.begin(at)
	if n, err := storeNumber(db, KindSpaces); err != nil {
		return nil, err
	} else if n > 0 {
		if s.secret, err = openSecret(db, o.Rand); err != nil {
			return nil, err
		}
	}
	s.dues.init()
	for _, t := range o.Types {
		if err := s.Declare(t); err != nil {
			return nil, err
		}
	}
	s.done.Go(s.sweep)
	return s, nil
}

// Close ends the background and every watch, and waits for them. The engine
// stays open. Every later call, Close too, returns ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return closedError()
	}
	s.ended = true
	close(s.closed)
	s.mu.Unlock()
	s.done.Wait()
	return nil
}

func closedError() *Error { return &Error{Code: CodeClosed, Reason: "the store is closed"} }

// open returns ErrClosed if the store is closed.
func (s *Store) open() error {
	select {
	case <-s.closed:
		return closedError()
	default:
		return nil
	}
}

// Declare makes a type known. Its space has a number from the first time on that
// one is made. Declaring a type again replaces the earlier declaration for spaces
// that are opened from then on.
func (s *Store) Declare(t Type) error {
	if err := t.check(); err != nil {
		return err
	}
	number, err := t.number(s.db)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Others {
		s.types[typeKey{system: t.System}] = &t
		maps.DeleteFunc(s.spaces, func(of spaceName, _ *Space) bool { return of.system == t.System })
		s.dues.arm(0) // something of the type may be due
		return nil
	}
	s.declared[typeName{t.System, t.Space}] = &t
	if number != 0 {
		s.numbered(typeName{t.System, t.Space}, number)
	}
	return nil
}

// numbered takes note of the number of a declared type. The caller holds mu.
func (s *Store) numbered(name typeName, number uint32) {
	s.types[typeKey{name.system, number}] = s.declared[name]
	s.numbers[name] = number
	// Those that are opened from now on are of this declaration.
	maps.DeleteFunc(s.spaces, func(of spaceName, _ *Space) bool { return of.system == name.system && of.space == name.name })
	s.dues.arm(0) // something of the type may be due
}

// number returns the number of a declared type, which it gets if it has none; 0
// if the type is not declared.
func (s *Store) number(ctx context.Context, name typeName) (uint32, error) {
	s.mu.RLock()
	number, known, secret := s.numbers[name], s.knows(name), s.secret
	s.mu.RUnlock()
	if number != 0 || !known {
		return number, nil
	}
	var err error
	if secret == nil { // so that a space is never without one
		if secret, err = openSecret(s.db, s.rand); err != nil {
			return 0, err
		}
	}
	if number, err = s.numberSpace(ctx, name.system, name.name); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret = secret
	if s.declared[name] != nil {
		s.numbered(name, number)
	}
	return number, nil
}

// knows reports whether the type of a space is declared. The caller holds mu.
func (s *Store) knows(name typeName) bool {
	return s.declared[name] != nil || s.types[typeKey{system: name.system}] != nil
}

// Now is the time that expiry goes by; see README.md.
func (s *Store) Now() time.Time { return timeOf(s.line.now()) }

// Timer sends once on fired when Now is at, or later where the time of day jumps ahead;
// stop ends it, and may be called at any time.
func (s *Store) Timer(at time.Time) (fired <-chan time.Time, stop func() bool) {
	elapsed := s.line.clock.Elapsed() // first, as time goes on meanwhile
	return s.line.clock.Timer(elapsed + at.Sub(s.Now()))
}

// typeOf returns the type of a space, or nil if it is not declared.
func (s *Store) typeOf(scope keys.Scope) *Type {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.types.of(scope)
}

// typeNamed returns a declared type, and its number; 0: it has none yet.
func (s *Store) typeNamed(name typeName) (*Type, uint32, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.declared[name]
	if t == nil {
		return nil, 0, invalid("type", "the type of the space is not declared")
	}
	return t, s.numbers[name], nil
}

// update runs fn as the making of one batch.
func (s *Store) update(ctx context.Context, d engine.Durability, fn func(*unit) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	u := s.units.Get().(*unit)
	u.reset(nil, nil)
	err := s.db.Update(func(g engine.Getter, b *engine.Batch) error {
		u.reset(g, b)
		u.now, b.Durability = s.line.now(), d
		if err := fn(u); err != nil {
			return err
		}
		return u.finish()
	})
	if err == nil {
		s.dues.arm(u.armed)
		for _, tx := range u.spaces {
			if tx.changed {
				s.notifier.notify(tx.scope)
			}
		}
	}
	if cap(u.arena)+cap(u.scratch) <= keepArena {
		u.reset(nil, nil)
		s.units.Put(u)
	}
	return err
}

// keepArena is the largest memory of a unit that is kept for the next.
const keepArena = 1 << 20

// storeNumber returns a number of the whole store; 0 if there is none yet.
func storeNumber(g engine.Getter, kind byte) (uint64, error) {
	row := Row{Shape: ShapeStore, Kind: kind}.AppendKey(nil)
	value, err := g.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("kv: open: %w", err)
	}
	return parseU64(row, value)
}

// openSecret returns the secret of the store, which it makes if there is none: where
// nothing is written, for as long as this store is open.
func openSecret(db engine.Engine, random io.Reader) ([]byte, error) {
	row := Row{Shape: ShapeStore, Kind: KindSecret}.AppendKey(nil)
	if secret, err := db.Get(nil, column.Generic, row); err == nil && len(secret) == secretBytes {
		return secret, nil
	}
	fresh := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, fresh); err != nil {
		return nil, fmt.Errorf("kv: open: no randomness: %w", err)
	}
	var secret []byte
	err := db.Update(func(g engine.Getter, b *engine.Batch) error {
		value, err := g.Get(nil, column.Generic, row)
		if errors.Is(err, engine.ErrNotFound) {
			b.Put(column.Generic, row, fresh)
			value, err = fresh, nil
		}
		secret = value
		return err
	})
	if errors.Is(err, engine.ErrReadOnly) {
		return fresh, nil
	}
	if err == nil && len(secret) != secretBytes {
		err = damaged(row, "a secret of another length")
	}
	return secret, err
}
