package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

// Options say how the capability runs. The zero Options are the defaults.
type Options struct {
	// Settings is asked before each change of a tenant; nil: the zero Settings for all. It
	// is called by many goroutines at once.
	Settings func(tenant string) Settings
	// Events opens what is told of the changes of a tenant; nil: nothing is.
	Events func(ctx context.Context, tenant string) (Feed, error)
	// Jobs opens the queues of what is to be done later; nil: nothing is done by itself.
	Jobs func(ctx context.Context, tenant string) (Queues, error)
	// Locks are those by which tasks are applied; nil: none is.
	Locks *lock.Store
	// Output keeps what an execution has printed, where that is more than stays in the task,
	// and returns by which key it is found; nil: only its begin is kept, unless the caller
	// has kept it.
	Output func(ctx context.Context, tenant string, output []byte) (key string, err error)
}

// Settings are what a tenant's configuration says. A zero duration, and zero thresholds, are
// the defaults.
type Settings struct {
	ApprovalTimeout    time.Duration // until an approval is due, unless its request says; default 48 h
	ApprovalMaxTimeout time.Duration // that a request may say; default 7 days
	TaskTimeout        time.Duration // of applying a task, unless its config says; default 1 h
	Risk               Thresholds
	AutoApproveLowRisk bool // what has a low risk needs no review, and is approved when it is due
	BatchApprovals     bool // many approvals are answered by one call
}

// Feed takes events of one tenant, within the unit of work that they tell of.
type Feed interface {
	// Append appends to a stream. It returns kv.ErrSpaceNotFound where the tenant was dropped
	// since the feed was opened.
	Append(w *kv.Work, stream, name string, payload json.RawMessage) error
}

// Queues take jobs of one tenant, within a unit of work.
type Queues interface {
	// Schedule has a job done in a queue at a time, once; one of the same id is replaced. It
	// returns kv.ErrSpaceNotFound as Feed.Append does.
	Schedule(w *kv.Work, id, queue string, due time.Time, payload json.RawMessage) error
	// Cancel removes a job, if there is one.
	Cancel(w *kv.Work, id string) error
}

// Store is the tasks and approvals of a kv.Store. Any number of goroutines may use it at
// once. Its methods refuse with a [*record.Error], or a [*lock.Error] where a lock is not
// held; other errors are those of the store, the engine or the context.
type Store struct {
	records *record.Store
	o       Options
	// within is true while a batch of this store is made; batches are made one at a time.
	within bool
}

// New returns the capability on the records of a store, to which it adds its collections:
// before anybody uses them.
func New(records *record.Store, o Options) (*Store, error) {
	if o.Settings == nil {
		o.Settings = func(string) Settings { return Settings{} }
	}
	s := &Store{records: records, o: o}
	sets, err := Collections()
	if err != nil {
		return nil, err
	}
	for _, c := range sets {
		own := *c
		switch c.Name {
		case Tasks:
			own.Check, own.Loaded = s.checkTask, s.loading((*turn).taskLoaded)
		case Approvals:
			own.Check, own.Loaded = s.checkApproval, s.loading((*turn).approvalLoaded)
		}
		if err := records.Add(&own); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Records are the records of the collections, by the verbs that all collections have: for
// reading, and for what changes neither a state nor who is asked.
func (s *Store) Records() *record.Store { return s.records }

// filled is the settings with the defaults.
func (s Settings) filled() Settings {
	for value, normal := range map[*time.Duration]time.Duration{
		&s.ApprovalTimeout: 48 * time.Hour, &s.ApprovalMaxTimeout: 7 * 24 * time.Hour, &s.TaskTimeout: time.Hour,
	} {
		if *value == 0 {
			*value = normal
		}
	}
	if s.Risk == (Thresholds{}) {
		s.Risk = Thresholds{Medium: 25, High: 50, Critical: 75}
	}
	return s
}

// turn is one batch in the making.
type turn struct {
	*record.Tx
	set  Settings
	feed Feed   // nil: none
	jobs Queues // nil: none
}

// opens is how often a unit of work is begun anew because its tenant was dropped meanwhile.
const opens = 3

// do writes what fn does in one batch. fn may run more than once.
func (s *Store) do(ctx context.Context, tenant string, d engine.Durability, fn func(*turn) error) (err error) {
	for range opens {
		u := turn{set: s.o.Settings(tenant).filled()}
		if s.o.Events != nil && tenant != "" {
			if u.feed, err = s.o.Events(ctx, tenant); err != nil {
				return err
			}
		}
		if s.o.Jobs != nil && tenant != "" {
			if u.jobs, err = s.o.Jobs(ctx, tenant); err != nil {
				return err
			}
		}
		err = s.records.Do(ctx, tenant, d, func(tx *record.Tx) error {
			u.Tx, s.within = tx, true
			defer func() { s.within = false }()
			return fn(&u)
		})
		if !errors.Is(err, kv.ErrSpaceNotFound) {
			return err
		}
	}
	return err
}
