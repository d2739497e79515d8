package torture

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc"
)

// knobs sets settings to values and back to their defaults. What was acknowledged is what they
// are, and what locks go by from then on.
type knobs struct {
	tenant string
	rand   *rand.Rand
	is     map[string]int // in seconds
	tried  int            // locks that were taken to see

	under string // the setting that is being set; "": none is
	to    int
}

// plainKnobs are the settings that are turned, all of them in seconds, with their defaults.
var plainKnobs = map[string]int{setting.LockDefaultTTL: 30, setting.LockHeartbeat: 10, setting.TaskTimeout: 3600}

func newKnobs(r *rand.Rand, id byte) worker {
	return &knobs{tenant: fmt.Sprint("knobs", id), rand: r, is: maps.Clone(plainKnobs)}
}

func (w *knobs) use(c *rpc.Client) error {
	s := c.Settings(w.tenant)
	name := slices.Sorted(maps.Keys(plainKnobs))[w.rand.IntN(len(plainKnobs))]
	if w.rand.IntN(4) == 0 {
		w.under, w.to = name, plainKnobs[name]
		was, err := s.Delete(context.Background(), name, engine.Synced)
		if err == nil && !was && w.is[name] != w.to {
			return wrongf("%s was not set, which was %d", name, w.is[name])
		}
		if err != nil {
			return err
		}
	} else {
		w.under, w.to = name, 5+w.rand.IntN(600)
		if _, err := s.Set(context.Background(), name, digits(int64(w.to)), engine.Synced); err != nil {
			return err
		}
	}
	w.is[name], w.under = w.to, ""
	if err := w.look(s, name); err != nil {
		return err
	}
	return w.effect(c)
}

// look demands that a setting is what was acknowledged, or what is under way.
func (w *knobs) look(s *rpc.Settings, name string) error {
	found, err := s.Get(context.Background(), name)
	switch {
	case err != nil:
		return err
	case string(found.Value) == string(digits(int64(w.is[name]))):
	case name == w.under && string(found.Value) == string(digits(int64(w.to))):
		w.is[name] = w.to
	default:
		return wrongf("%s is %s; acknowledged was %d, and under way %q to be %d", name, found.Value, w.is[name], w.under, w.to)
	}
	return nil
}

// effect demands that a lock is held for as long as is set, if its request does not say.
func (w *knobs) effect(c *rpc.Client) error {
	w.tried++
	name, l := fmt.Sprint("task:knob", w.tried), c.Locks(w.tenant)
	g, err := l.Acquire(context.Background(), rpc.LockRequest{Name: name, Agent: "a"})
	if err != nil {
		return err
	}
	if held := g.Expires.Sub(g.Acquired); held != time.Duration(w.is[setting.LockDefaultTTL])*time.Second {
		return wrongf("a lock is held for %s; %s is %d", held, setting.LockDefaultTTL, w.is[setting.LockDefaultTTL])
	}
	_, err = l.Release(context.Background(), lock.Holding{Name: name, Agent: "a", Token: g.Token}, engine.WAL)
	return err
}

func (w *knobs) recount(c *rpc.Client) error {
	for name := range plainKnobs {
		if err := w.look(c.Settings(w.tenant), name); err != nil {
			return err
		}
	}
	w.under = ""
	return w.effect(c)
}
