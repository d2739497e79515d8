package bench

import (
	"time"
)

// subject is something that is measured.
type subject struct {
	name  string
	actor func() (actor, error) // one for each goroutine at work
	// elsewhere returns the CPU time that another process, which does the work
	// of the subject, has used so far; nil if there is none.
	elsewhere func() (time.Duration, error)
	// settle is called before each turn, so that no subject pays for what
	// another has left to do in the background; nil if there is nothing.
	settle func() error
	lacks  []string // workloads that it has no counterpart to
	close  func() error
}

// actor is one goroutine's hands on a subject. Rows are those of the dataset.
type actor interface {
	get(row int) error // of a row that is stored
	miss(row int) error
	multiGet(rows []int) error
	put(row int) error // durable against the end of the process
	putSynced(row int) error
	batch(first, n int) error     // of n rows, as put
	scan(row, n int) (int, error) // n entries from a row on, within its context
	walk() (int, error)           // every entry
	release() error
}

func (s *subject) has(w workload) bool {
	for _, name := range s.lacks {
		if name == w.name {
			return false
		}
	}
	return true
}
