package engine

// Waiting returns how many requests wait for somebody who leads.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) - q.taken
}

// Holds returns how many requests the queue refers to.
func (q *Queue[T]) Holds() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range append(q.group[:cap(q.group)], q.waiting[:cap(q.waiting)]...) {
		if r != nil {
			n++
		}
	}
	return n
}

// Withdraw is what a caller does whose context has ended.
func (q *Queue[T]) Withdraw(requests []*Request[T]) bool { return q.withdraw(requests) }

// TellToLead has the queue be as it is between telling the caller of requests to lead
// and its beginning.
func (q *Queue[T]) TellToLead(requests []*Request[T]) { q.leading, q.waiting = true, requests }

// Waiting returns how many requests wait for somebody who commits.
func (c *Committer) Waiting() int { return c.queue.Waiting() }

// Kept returns what the committer holds between groups: bytes of the buffer for
// values that are compared, and room for rows of its view.
func (c *Committer) Kept() (values, rows int) { return cap(c.got), cap(c.view.changes.rows) }

// ViewRows returns how many rows the view of a group has.
func (c *Committer) ViewRows() int { return len(c.view.changes.rows) }

// Ranges returns how many deleted ranges the overlay has taken in.
func (o *Overlay) Ranges() int { return len(o.changes.ranges) }

// Bounds that tests go over.
const (
	KeepBytes     = keepBytes
	KeepChanges   = keepChanges
	FewChanges    = fewChanges
	MaxGroupBytes = maxGroupBytes
	MaxGroupSize  = maxGroupSize
	MaxViewRows   = maxViewRows
	MaxViewRanges = maxViewRanges
)
