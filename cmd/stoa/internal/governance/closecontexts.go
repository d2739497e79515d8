package governance

import (
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

// closeBelow closes the contexts of a group that somebody was removed from, and of those below it
// that this concerns.
func (c *call) closeBelow(ns, g codec.GroupID, recursive bool) (closed int, err error) {
	groups := []codec.GroupID{g}
	if recursive || ns == g {
		below, err := c.below(ns, g)
		if err != nil {
			return 0, err
		}
		groups = append(groups, below...)
	}
	return c.closeContexts(groups)
}

// closeContexts has this daemon vouch for what it holds of the contexts of groups, and so close them
// against who was removed. It returns how many there are.
func (c *call) closeContexts(groups []codec.GroupID) (closed int, err error) {
	signed := c.Client.Content()
	for _, g := range groups {
		for info, err := range c.groups.Contexts(c.Ctx, g) {
			if err != nil {
				return closed, err
			}
			heads, err := signed.Heads(c.Ctx, info.ID)
			if err != nil {
				return closed, err
			}
			if len(heads) == 0 {
				continue
			}
			switch _, err := signed.Vouch(c.Ctx, info.ID); {
			case errors.Is(err, namespace.ErrNotWriter):
			case err != nil:
				return closed, err
			default:
				closed++
			}
		}
	}
	return closed, nil
}
