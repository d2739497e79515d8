package engine

// Waiting returns how many requests wait for somebody who commits.
func (c *Committer) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// Bounds that tests go over.
const (
	MaxGroupBytes     = maxGroupBytes
	MaxGroupSize      = maxGroupSize
	MaxOverlayChanges = maxOverlayChanges
	MaxOverlayRanges  = maxOverlayRanges
)

// ErrBroken is what the others of a group get whose leader has not returned.
var ErrBroken = errBroken
