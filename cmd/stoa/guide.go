package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// guide tells a person what comes next, a line for each step.
func (c *govCall) guide(steps ...string) {
	if c.json {
		return
	}
	for _, step := range steps {
		fmt.Fprintln(c.stderr, step)
	}
}

// guideInvited says what to do with an invitation to a group.
func (c *govCall) guideInvited(g codec.GroupID) error {
	ns, err := c.read.NamespaceOf(g)
	if err != nil {
		return err
	}
	if ns != g {
		known, err := c.namesOf(ns)
		if err != nil {
			return err
		}
		home := known.of(ns.String())
		c.guide(fmt.Sprintf("this is of use only to a member of %s: others are invited there first, with stoa namespace invite %s", home, home))
	}
	c.guide("this is for who is to join, who runs: stoa namespace join INVITATION")
	return nil
}

// noteStanding tells who was removed from a namespace that they were: what is shown is
// what was known then.
func (c *govCall) noteStanding(ns codec.GroupID) error {
	info, err := c.read.Namespace(ns)
	if err != nil {
		return err
	}
	if info.Standing == namespace.Removed {
		c.guide("you were removed from this namespace: what came later is not here")
	}
	return nil
}

// explainVoid gives an op that would have no effect the hint that its reason asks for.
func (c *govCall) explainVoid(ns codec.GroupID, err error) error {
	if !errors.Is(err, namespace.ErrNotEffective) && !errors.Is(err, namespace.ErrNoKey) {
		return err
	}
	if strings.Contains(err.Error(), group.NotInNamespace.String()) {
		return refused(err, "who enters a group has to be a member of its namespace first: `stoa namespace invite NAMESPACE` invites there")
	}
	if info, failed := c.read.Namespace(ns); failed == nil && info.Standing == namespace.Removed {
		return refused(err, "you were removed from this namespace: a member can invite you again")
	}
	return err
}
