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
// values that are compared, and columns for whose changed rows it has a map.
func (c *Committer) Kept() (values, maps int) {
	for _, rows := range c.view.rows {
		if rows != nil {
			maps++
		}
	}
	return cap(c.view.got), maps
}

// Bounds that tests go over.
const (
	KeepBytes         = keepBytes
	KeepOverlayRows   = keepOverlayRows
	MaxGroupBytes     = maxGroupBytes
	MaxGroupSize      = maxGroupSize
	MaxOverlayChanges = maxOverlayChanges
	MaxOverlayRanges  = maxOverlayRanges
)
