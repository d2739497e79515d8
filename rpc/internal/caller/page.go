package caller

import (
	"fmt"
	"iter"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// Pagewise yields a list from an entry on, most entries of it, or all if most is 0. Pages
// grow as those of scans do: who wants a few entries does not wait for a thousand. ask
// returns a page and what the next one is after, zero with the last.
func Pagewise[T any, N comparable](name string, most int, last N, ask func(last N, limit int) ([]T, N, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for limit, left, last := wire.FirstPageEntries, most, last; ; limit = min(limit*wire.PageGrowth, wire.MaxListPage) {
			if most > 0 {
				limit = min(limit, left)
			}
			list, next, err := ask(last, limit)
			if err == nil && next == last && next != *new(N) {
				err = fmt.Errorf("rpc: %s: %w: the daemon does not get on", name, fault.ErrInternal)
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, entry := range list {
				if !yield(entry, nil) {
					return
				}
			}
			left -= len(list)
			if next == *new(N) || most > 0 && left <= 0 {
				return
			}
			last = next
		}
	}
}
