package rpc

import (
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Find is naming.Find in the daemon's store, in one call. A query that nothing could
// match is [ErrRequest].
func (c *Client) Find(q naming.Query) (naming.Answer, error) {
	ask := &stoav1.FindRequest{Kind: stoav1.FindKind(q.Kind), Text: q.Text,
		GroupId: op.OptionalBytes(q.Group), ContextId: op.OptionalBytes(q.Context)}
	res, err := dagCall(c, "find", c.admin.Find, ask)
	if err != nil {
		return naming.Answer{}, err
	}
	matches, err := collect("find", res.GetMatches(), matchOf)
	return naming.Answer{Matches: matches, More: res.GetMore()}, err
}

func matchOf(m *stoav1.FindMatch) (found naming.Match, err error) {
	found.Name = m.GetName()
	if found.ID, err = op.ParseHash[[32]byte]("id", m.GetId()); err == nil {
		found.In, err = op.ParseOptional[[32]byte]("group_id", m.GetGroupId())
	}
	return found, err
}
