package lock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// keyPrefix is what all literal keys of locks begin with.
const keyPrefix = "ade:lock:"

// Key is the literal key of a lock.
func Key(name string) string { return keyPrefix + name }

// MaxListed is how many members a literal key shows at most.
const MaxListed = 10_000

// Queues are what literal keys show that is in memory only: who waits. The zero Queues
// are none.
type Queues struct {
	Queue   func(name string) []Waiting
	Waits   func(agent string) []Waiting
	Checked func(agent string) time.Time // when it was last looked whether it waits for itself; zero: it was not
}

// Lookup returns what a literal key stands for; see [Lookup].
func (s *Store) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	space, err := s.space(tenant)
	if err != nil {
		return nil, err
	}
	q := Queues{
		Queue:   func(name string) []Waiting { return s.Queue(tenant, name) },
		Waits:   func(agent string) []Waiting { return s.Waits(tenant, agent) },
		Checked: func(agent string) time.Time { return s.checkedAt(tenant, agent) },
	}
	if space == nil {
		return Lookup(ctx, nil, q, key)
	}
	view, err := space.View()
	if err != nil {
		return nil, told(err)
	}
	defer func() { _ = view.Close() }()
	return Lookup(ctx, view, q, key)
}

// Lookup returns what a literal key stands for in a state of the space of a tenant's locks,
// which is nil if it has none: an object of a hash, [[member, score], …] of a sorted set,
// a list of a set, a string. Braces in a key are left out. It returns ErrNotFound where
// there is nothing, and ErrInvalidArgument for a key of no pattern.
func Lookup(ctx context.Context, view *kv.View, q Queues, key string) (json.RawMessage, error) {
	plain := kv.Untagged(key)
	rest, ok := strings.CutPrefix(plain, keyPrefix)
	if !ok {
		return nil, noPattern()
	}
	l := lookup{ctx: ctx, view: view, Queues: q.filled()}
	found, err := l.find(rest)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

func noPattern() *Error {
	return invalid("key", "no literal key of locks looks like this; they begin with %s and go on with task:ID, resource:TYPE:ID, one of these and :queue, "+
		"agent:AGENT:capacity, index:agent:AGENT, index:resource:TYPE, registry, waitfor:AGENT or deadlock:check:AGENT", keyPrefix)
}

func (q Queues) filled() Queues {
	none := func(string) []Waiting { return nil }
	if q.Queue == nil {
		q.Queue = none
	}
	if q.Waits == nil {
		q.Waits = none
	}
	if q.Checked == nil {
		q.Checked = func(string) time.Time { return time.Time{} }
	}
	return q
}

type lookup struct {
	Queues
	ctx  context.Context
	view *kv.View
}

// find returns what the rest of a key stands for.
func (l *lookup) find(rest string) (any, error) {
	if agent, ok := cutBoth(rest, agentWord+":", ":capacity"); ok {
		return l.capacity(agent)
	}
	for prefix, of := range map[string]func(string) (any, error){
		"index:agent:": l.heldBy, "index:resource:": l.resources, "waitfor:": l.waitsFor, "deadlock:check:": l.checked,
	} {
		if name, ok := strings.CutPrefix(rest, prefix); ok {
			return of(name)
		}
	}
	if rest == "registry" {
		return l.registry()
	}
	if name, ok := strings.CutSuffix(rest, views[0]); ok {
		return l.queue(name)
	}
	if _, _, err := ParseName(rest); err != nil {
		return nil, noPattern()
	}
	return l.lock(rest)
}

func cutBoth(s, prefix, suffix string) (string, bool) {
	s, before := strings.CutPrefix(s, prefix)
	s, behind := strings.CutSuffix(s, suffix)
	return s, before && behind
}

type taskHash struct {
	Holder     string `json:"holder_agent_id"`
	Acquired   string `json:"acquired_at"`
	Expires    string `json:"expires_at"`
	Purpose    string `json:"purpose"`
	Heartbeats uint32 `json:"heartbeat_count"`
	Queue      int    `json:"queue_length"`
}

type resourceHash struct {
	Mode      string       `json:"mode"`
	Holders   []holderHash `json:"holders"`
	Exclusive string       `json:"exclusive_holder,omitempty"`
	Acquired  string       `json:"acquired_at"`
	Expires   string       `json:"expires_at"`
}

type holderHash struct {
	Agent    string `json:"agent_id"`
	Acquired string `json:"acquired_at"`
}

// lock is the hash of a lock that somebody holds.
func (l *lookup) lock(name string) (any, error) {
	nothing := refuse(CodeNotFound, "key", "nobody holds the lock")
	if l.view == nil {
		return nil, nothing
	}
	r, err := l.view.Get([]byte(name))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nothing
	}
	if err != nil {
		return nil, told(err)
	}
	found, err := lockOf(&r, millis(l.view.Time()))
	if err != nil || len(found.Holders) == 0 {
		return nil, cmp.Or[error](err, nothing)
	}
	first := &found.Holders[0]
	if exclusiveOnly(name) {
		return taskHash{first.Agent, instant(first.Acquired), instant(first.Expires), first.Purpose, first.Heartbeats, len(l.Queue(name))}, nil
	}
	h := resourceHash{Mode: found.Mode.String(), Acquired: instant(first.Acquired), Expires: instant(lastOf(&found))}
	if found.Mode == Exclusive {
		h.Exclusive = first.Agent
	}
	for i := range found.Holders {
		h.Holders = append(h.Holders, holderHash{found.Holders[i].Agent, instant(found.Holders[i].Acquired)})
	}
	return h, nil
}

func instant(t time.Time) string { return document.FormatInstant(t) }

// lastOf is when the last holder's time is over.
func lastOf(l *Lock) (at time.Time) {
	for i := range l.Holders {
		if e := l.Holders[i].Expires; e.After(at) {
			at = e
		}
	}
	return at
}

type waitingValue struct {
	Agent    string `json:"agent_id"`
	Mode     string `json:"mode"`
	Priority int    `json:"priority"`
	At       string `json:"requested_at"`
	MaxWait  uint64 `json:"max_wait_seconds"`
}

// queue is the sorted set of who waits, in order, with the moment that each came at.
func (l *lookup) queue(name string) (any, error) {
	if _, _, err := ParseName(name); err != nil {
		return nil, noPattern()
	}
	set := [][2]any{}
	for _, w := range l.Queue(name) {
		set = append(set, [2]any{waitingValue{w.Agent, w.Mode.String(), w.Priority, instant(moment(w.Since)), (w.MaxWait + 999) / 1000}, w.Since})
	}
	return set, nil
}

type capacityHash struct {
	Max    int    `json:"max_tasks"`
	Active int    `json:"active_tasks"`
	Queued int    `json:"queued_tasks"`
	Heard  string `json:"last_heartbeat"`
	Status string `json:"status"`
}

func (l *lookup) capacity(agent string) (any, error) {
	if l.view == nil {
		return nil, notRegistered(agent)
	}
	a, err := agentIn(l.ctx, l.view, agent)
	if err != nil {
		return nil, err
	}
	h := capacityHash{a.MaxTasks, a.ActiveTasks, 0, instant(a.Heard), a.Status.String()}
	for _, w := range l.Waits(agent) {
		if exclusiveOnly(w.Name) {
			h.Queued++
		}
	}
	return h, nil
}

func (l *lookup) heldBy(agent string) (any, error) {
	keys := []string{}
	if l.view == nil {
		return keys, nil
	}
	held, err := heldIn(l.ctx, l.view, agent)
	for i := range held {
		keys = append(keys, Key(held[i].Name))
	}
	slices.Sort(keys)
	return keys, err
}

// held yields the locks that are held whose names begin with a prefix, at most MaxListed.
func (l *lookup) held(prefix string) (list []Lock, err error) {
	if l.view == nil {
		return nil, nil
	}
	for r, err := range l.view.All(l.ctx, []byte(prefix)) {
		if err != nil {
			return nil, told(err)
		}
		if agentKey(r.Key) {
			continue
		}
		found, err := lockOf(&r, millis(l.view.Time()))
		if err != nil {
			return nil, err
		}
		if len(found.Holders) == 0 {
			continue
		}
		if list = append(list, found); len(list) > MaxListed {
			return nil, tooMany("key", MaxListed, "the key stands for more locks than are shown at once: list them by pages")
		}
	}
	return list, nil
}

func (l *lookup) resources(kind string) (any, error) {
	list, err := l.held(Resource(kind, ""))
	keys := []string{}
	for i := range list {
		keys = append(keys, Key(list[i].Name))
	}
	return keys, err
}

// registry is the sorted set of all locks by when they expire.
func (l *lookup) registry() (any, error) {
	list, err := l.held("")
	slices.SortStableFunc(list, func(a, b Lock) int { return lastOf(&a).Compare(lastOf(&b)) })
	set := [][2]any{}
	for i := range list {
		set = append(set, [2]any{Key(list[i].Name), millis(lastOf(&list[i]))})
	}
	return set, err
}

func (l *lookup) waitsFor(agent string) (any, error) {
	keys := []string{}
	for _, w := range l.Waits(agent) {
		keys = append(keys, Key(w.Name))
	}
	slices.Sort(keys)
	return keys, nil
}

func (l *lookup) checked(agent string) (any, error) {
	at := l.Checked(agent)
	if at.IsZero() {
		return nil, refuse(CodeNotFound, "key", "it was not looked lately whether the agent waits for itself")
	}
	return instant(at), nil
}
