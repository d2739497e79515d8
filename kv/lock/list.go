package lock

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv"
)

// ListOptions say which page of the locks that are held is asked for. The zero ListOptions
// are the first of all.
type ListOptions struct {
	Prefix string // of names, as resource:database:
	Agent  string // that holds them; "": whoever does
	Cursor string // of the page before, which was asked for with the same Prefix and Agent; "": the first page
	Limit  int    // locks of a page, at most MaxListed; 0: 100
}

// Page is a part of a list of locks.
type Page struct {
	Locks []Lock // in order of their names; of an agent, those of resources first
	Next  string // the cursor of the next page; "": this is the last
}

// plainPage is the size of a page that nobody asked a size for.
const plainPage = 100

// listLook is how many locks of an agent are looked at for a page, whose prefix few have.
const listLook = 10_000

// List returns a page of the locks that are held. It returns ErrInvalidArgument for a limit
// out of its bounds and a cursor of another list. A page can have fewer locks than its limit
// and be followed by others all the same.
func (s *Store) List(ctx context.Context, tenant string, o ListOptions) (Page, error) {
	if o.Agent != "" {
		if err := checkAgent(o.Agent); err != nil {
			return Page{}, err
		}
	}
	space, err := s.space(tenant)
	if space == nil || err != nil {
		return Page{}, err
	}
	view, err := space.View()
	if err != nil {
		return Page{}, told(err)
	}
	defer func() { _ = view.Close() }()
	l := listing{s, tenant, view, millis(view.Time()), Page{}}
	if o.Agent != "" {
		err = l.ofAgent(ctx, &o)
	} else {
		err = l.named(ctx, &o)
	}
	if err != nil {
		return Page{}, told(err)
	}
	return l.page, nil
}

// listing is a page in the making.
type listing struct {
	s      *Store
	tenant string
	view   *kv.View
	now    uint64
	page   Page
}

// add adds what a record says, unless all holders' time is over, or that of the agent that
// is asked for; "": whoever holds it.
func (l *listing) add(r *kv.Record, agent string) error {
	found, err := lockOf(r, l.now)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(found.Holders, func(g Grant) bool { return agent == "" || g.Agent == agent }) {
		found.Waiting = l.s.countWaiting(l.tenant, found.Name)
		l.page.Locks = append(l.page.Locks, found)
	}
	return nil
}

func (l *listing) ofAgent(ctx context.Context, o *ListOptions) error {
	from, to := termsOf(o.Agent)
	list, next, err := l.view.ByIndex(ctx, indexAgent, kv.IndexOptions{From: from, To: to, Cursor: o.Cursor, Limit: o.Limit, Look: listLook, Asked: []byte(o.Prefix),
		Keep: func(_ []byte, r *kv.Record) bool { return strings.HasPrefix(string(r.Key), o.Prefix) }})
	for i := range list {
		if err := l.add(&list[i].Record, o.Agent); err != nil {
			return err
		}
	}
	l.page.Next = next
	return err
}

// named lists by names: those of resources and then, as there are agents between, those of
// tasks. Cursors are the number of the list, and the cursor in it.
func (l *listing) named(ctx context.Context, o *ListOptions) error {
	words, at, cursor := [...]string{resourceWord + ":", taskWord + ":"}, 0, ""
	if o.Cursor != "" {
		if at, cursor = int(o.Cursor[0])-'0', o.Cursor[1:]; at < 0 || at >= len(words) {
			return invalid("cursor", "it is no cursor of this list")
		}
	}
	for n, word := range words {
		prefix := o.Prefix
		switch {
		case n < at:
			continue
		case strings.HasPrefix(word, prefix):
			prefix = word
		case !strings.HasPrefix(prefix, word):
			continue
		}
		limit := cmp.Or(o.Limit, plainPage)
		if n > at {
			limit -= len(l.page.Locks)
		}
		if limit == 0 {
			l.page.Next = string(rune('0' + n))
			return nil
		}
		list, err := l.view.List(ctx, kv.ListOptions{Prefix: []byte(prefix), Cursor: cursor, Limit: limit})
		if err != nil {
			return err
		}
		for i := range list.Records {
			if err := l.add(&list.Records[i], ""); err != nil {
				return err
			}
		}
		if cursor = ""; list.Next != "" {
			l.page.Next = string(rune('0'+n)) + list.Next
			return nil
		}
	}
	return nil
}

// countWaiting is how many wait for a lock.
func (s *Store) countWaiting(tenant, name string) int {
	t := s.known(tenant)
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.queues[name]; q != nil {
		return len(q.waiters)
	}
	return 0
}

// AgentOptions say which page of agents is asked for. The zero AgentOptions are the first.
type AgentOptions struct {
	Cursor string // of the page before; "": the first page
	Limit  int    // agents of a page, at most MaxAgents; 0: 100
}

// AgentPage is a part of the agents that are registered.
type AgentPage struct {
	Agents []Agent // in order of their names
	Next   string  // the cursor of the next page; "": this is the last
}

// Agents returns a page of the agents that are registered. It returns ErrInvalidArgument for
// a limit out of its bounds and a cursor of another list.
func (s *Store) Agents(ctx context.Context, tenant string, o AgentOptions) (AgentPage, error) {
	if o.Limit > MaxAgents {
		return AgentPage{}, invalid("limit", "a page has 1 to %d agents, and 0 is 100", MaxAgents)
	}
	space, err := s.space(tenant)
	if space == nil || err != nil {
		return AgentPage{}, err
	}
	view, err := space.View()
	if err != nil {
		return AgentPage{}, told(err)
	}
	defer func() { _ = view.Close() }()
	list, err := view.List(ctx, kv.ListOptions{Prefix: keyOfAgent(""), Cursor: o.Cursor, Limit: o.Limit})
	if err != nil {
		return AgentPage{}, told(err)
	}
	page := AgentPage{Next: list.Next}
	for _, r := range list.Records {
		a, err := agentIn(ctx, view, string(r.Key[len(keyOfAgent("")):]))
		if err != nil {
			return AgentPage{}, err
		}
		page.Agents = append(page.Agents, s.withQueued(tenant, a))
	}
	return page, nil
}

// withQueued is an agent with how many tasks it waits for.
func (s *Store) withQueued(tenant string, a Agent) Agent {
	for _, w := range s.Waits(tenant, a.Name) {
		if exclusiveOnly(w.Name) {
			a.QueuedTasks++
		}
	}
	return a
}
