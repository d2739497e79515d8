package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/cmd/redisdump"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// importer brings a translation to the tenant of a call.
type importer struct {
	*call
	dry, replace bool
	now          time.Time
	report
}

// all brings everything: the configuration first, by which the rest goes; locks before their
// agents, of which some take no more; and tasks before what is asked about them.
func (m *importer) all(t *redisdump.Translation) error {
	for _, l := range t.Left {
		m.leave(l.Kind, l.Key, l.Why)
	}
	if err := eachOf(t.Settings, m.setting); err != nil {
		return err
	}
	if err := eachOf(t.Locks, m.lock); err != nil {
		return err
	}
	if err := eachOf(t.Agents, m.agent); err != nil {
		return err
	}
	for _, of := range t.Documents() {
		for list := range slices.Chunk(of.List, record.MaxKeptIDs) { // so that all that stay are named
			if err := m.documents(of.Collection, list); err != nil {
				return err
			}
		}
	}
	return m.allSessions(t.Sessions)
}

func eachOf[T any](list []T, fn func(T) error) error {
	for _, one := range list {
		if err := fn(one); err != nil {
			return err
		}
	}
	return nil
}

// another is why what is there as another stays.
const another = "it is there as another; --replace puts what the file has in its place"

func (m *importer) setting(s redisdump.Setting) error {
	now, err := m.settings.Get(m.Ctx, s.Name)
	if err != nil {
		return err
	}
	value, err := document.Canonical(s.Value)
	if err != nil {
		return err
	}
	switch {
	case now.Set && bytes.Equal(value, now.Value):
		m.same("setting", 1)
		return nil
	case now.Set && !m.replace:
		m.conflict("setting", s.Key, another)
		return nil
	}
	m.imported("setting", 1)
	if m.dry {
		return nil
	}
	_, err = m.settings.Set(m.Ctx, s.Name, value, rpc.Synced)
	return err
}

// lock has an agent hold a lock for as long as it has left. No flag takes one from others.
func (m *importer) lock(h redisdump.Held) error {
	l, err := m.locks.Get(m.Ctx, h.Name)
	if refused(err) {
		m.conflict("lock", h.Key, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	mode := lock.Exclusive
	if h.Shared {
		mode = lock.Shared
	}
	var others []string
	for _, g := range l.Holders {
		if g.Agent == h.Agent && l.Mode == mode {
			m.same("lock", 1)
			return nil
		}
		others = append(others, g.Agent)
	}
	left := h.Until.Sub(m.now)
	switch {
	case len(others) > 0 && (l.Mode != mode || !h.Shared):
		m.conflict("lock", h.Key, fmt.Sprintf("%s is held by %s by now", h.Name, strings.Join(others, ", ")))
		return nil
	case m.dry:
		m.imported("lock", 1)
		return nil
	}
	_, err = m.locks.Acquire(m.Ctx, rpc.LockRequest{Name: h.Name, Agent: h.Agent, Mode: mode, TTL: left, Purpose: h.Purpose, Durability: rpc.Synced})
	if refused(err) {
		m.conflict("lock", h.Key, err.Error())
		return nil
	}
	if err == nil {
		m.imported("lock", 1)
	}
	return err
}

// refused reports whether an error is about a lock, and not about the daemon.
func refused(err error) bool {
	var e *lock.Error
	return errors.As(err, &e)
}

func (m *importer) agent(a redisdump.Agent) error {
	now, err := m.locks.Agent(m.Ctx, a.Name)
	there := err == nil
	switch {
	case errors.Is(err, lock.ErrNotFound):
	case refused(err):
		m.conflict("agent", a.Key, err.Error())
		return nil
	case err != nil:
		return err
	case now.MaxTasks == a.Tasks && (now.Status == status(a) || now.Status == lock.Offline): // which it is where nobody has heard of it since
		m.same("agent", 1)
		return nil
	}
	if there && !m.replace {
		m.conflict("agent", a.Key, another)
		return nil
	}
	if !m.dry {
		if err = m.locks.Register(m.Ctx, a.Name, a.Tasks, rpc.Synced); err == nil && a.Draining {
			err = m.locks.Drain(m.Ctx, a.Name, true, rpc.Synced)
		}
		if refused(err) {
			m.conflict("agent", a.Key, err.Error())
			return nil
		}
		if err != nil {
			return err
		}
	}
	m.imported("agent", 1)
	return nil
}

func status(a redisdump.Agent) lock.Status {
	if a.Draining {
		return lock.Draining
	}
	return lock.Active
}

// kinds are what the documents of collections are called.
var kinds = map[string]string{approval.Delegations: "delegation", approval.Tasks: "task", approval.Previews: "preview", approval.Approvals: "approval"}

// documents imports documents of a collection.
func (m *importer) documents(collection string, list []redisdump.Document) error {
	var lines bytes.Buffer
	keys := map[string]string{}
	for _, d := range list {
		keys[d.ID] = d.Key
		lines.Write(d.JSON)
		lines.WriteByte('\n')
	}
	n, err := m.records.ImportWith(m.Ctx, collection, &lines, record.ImportOptions{Keep: !m.replace, Dry: m.dry})
	if err != nil {
		return err
	}
	kind := kinds[collection]
	m.imported(kind, n.Stored)
	m.same(kind, n.Same)
	for _, id := range n.IDs {
		m.conflict(kind, keys[id], another)
	}
	return nil
}
