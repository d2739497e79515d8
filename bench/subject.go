package bench

import (
	"slices"
	"time"
)

// Subject is something that is measured. Run calls its functions one at a time.
type Subject struct {
	// Name is the name in the report.
	Name string
	// Actor returns an actor for one goroutine at work.
	Actor func() (Actor, error)
	// Share returns n actors for as many goroutines that share one connection. nil:
	// there is no connection, and each gets what Actor returns.
	Share func(n int) ([]Actor, error)
	// Elsewhere returns the CPU time that another process, which does the work
	// of the subject, has used so far. nil: there is none.
	Elsewhere func() (time.Duration, error)
	// Server is the process that does the work of the subject. 0: this one does.
	Server int
	// Dir is the directory or the file that has what the subject keeps on disk.
	// Empty: it keeps nothing there.
	Dir string
	// Turn takes a whole turn at the workload of this name in another process,
	// which has no hands here: Actor and Share are not called. cpu is that of the workers'
	// threads. nil: actors work.
	Turn func(workload string, workers int, d time.Duration) (units int, cpu time.Duration, latencies []time.Duration, err error)
	// Settle is called before each turn, so that no subject pays for what
	// another has left to do in the background, and after one that has written, so
	// that its bytes are counted. nil: nothing is left.
	Settle func() error
	// Typed says that it has the metadata of contexts too: its actors are MetaActors.
	Typed bool
	// Lacks are the names of the workloads that it has no counterpart to.
	Lacks []string
	// Close is called once, when all actors are released.
	Close func() error
}

// Actor is one goroutine's hands on a subject. Rows are those of the Dataset.
// Whatever reads looks at the size of each value.
type Actor interface {
	// Get reads a row that is stored.
	Get(row int) error
	// Miss looks for a row that is not stored; finding it is an error.
	Miss(row int) error
	// MultiGet reads rows that are stored.
	MultiGet(rows []int) error
	// Put writes a row, durable against the end of the process.
	Put(row int) error
	// PutSynced writes a row, on disk when it returns.
	PutSynced(row int) error
	// Batch writes n rows from first on at once, as durable as Put.
	Batch(first, n int) error
	// Scan reads at most n entries in order, from a stored row on and within its
	// context, and returns how many there were.
	Scan(row, n int) (int, error)
	// Walk reads every entry in order and returns how many there were.
	Walk() (int, error)
	// Release gives up what the actor holds.
	Release() error
}

// MetaActor is one goroutine's hands on the metadata of Metas contexts: as values of their type, or, where
// it is a bare loop, as the bytes that these are.
type MetaActor interface {
	// GetMeta reads the metadata of a context.
	GetMeta(i int) error
	// WriteMeta changes and writes that of n contexts from the first on, as durable as Put.
	WriteMeta(first, n int) error
	// ScanMeta reads that of at most n contexts in the order of their keys, from that of context i on,
	// and returns how many there were.
	ScanMeta(i, n int) (int, error)
}

// hire returns the actors of a workload.
func (s *Subject) hire(w workload) ([]Actor, error) {
	if s.Turn != nil {
		return nil, nil
	}
	if w.shared && s.Share != nil {
		return s.Share(w.workers)
	}
	var actors []Actor
	for range w.workers {
		a, err := s.Actor()
		if err != nil {
			return actors, err
		}
		actors = append(actors, a)
	}
	return actors, nil
}

func (s *Subject) has(w workload) bool {
	return (s.Typed || !w.typed()) && !slices.Contains(s.Lacks, w.name)
}
