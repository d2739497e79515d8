package engine

// Waiting returns how many requests wait for somebody who commits.
func (c *Committer) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// Kept returns what the committer holds between groups: bytes of the buffer for
// values that are compared, and columns for whose changed rows it has a map.
func (c *Committer) Kept() (values, maps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// ErrBroken is what the others of a group get whose leader has not returned.
var ErrBroken = errBroken
