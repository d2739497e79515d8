package policy

import (
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/record"
)

// Options say how the capability runs. The zero Options are the defaults.
type Options struct {
	Records record.Options
	// MaxRecords is how many records of agents, delegations and policies are kept in memory
	// for decisions, of all tenants together: those of the tenants that were asked about
	// last. A tenant that has more by itself is kept while it is asked about. 0: 1,000,000.
	MaxRecords int
}

// Store is the records of the capability in a kv.Store, and the decisions by them. Any
// number of goroutines may use it at once. Its methods refuse with a [*record.Error];
// other errors are those of the store, the engine or the context.
type Store struct {
	kv      *kv.Store
	records *record.Store
	worlds  worlds
}

// New returns the capability on a store, to which it declares its collections.
func New(store *kv.Store, o Options) (*Store, error) {
	sets, err := Collections()
	if err != nil {
		return nil, err
	}
	records, err := record.New(store, o.Records, sets...)
	if err != nil {
		return nil, err
	}
	if o.MaxRecords == 0 {
		o.MaxRecords = 1_000_000
	}
	return &Store{kv: store, records: records, worlds: newWorlds(store, records, o.MaxRecords)}, nil
}

// Records are the records of the collections, by the verbs that all collections have.
func (s *Store) Records() *record.Store { return s.records }
