package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// intents makes, changes, moves on and removes records of one collection.
type intents struct {
	tenant string
	rand   *rand.Rand
	has    map[string]intent
	id     string // of the record that the call under way is about; "": none is
	under  intent // what that makes of it
	last   uint64 // the highest revision that was seen
}

// intent is a record; the zero intent is none.
type intent struct {
	goal, status string
	revision     uint64 // 0: what the write under way will get
}

func newIntents(r *rand.Rand, id byte) worker {
	return &intents{tenant: fmt.Sprint("records", id), rand: r, has: map[string]intent{}}
}

const intentsOf = "intent"

// next are states that an intent moves on to.
var next = map[string][]string{"proposed": {"in_planning", "cancelled"}, "in_planning": {"executing", "cancelled"}, "executing": {"completed"}}

func (w *intents) use(c *rpc.Client) error {
	r, ctx := c.Records(w.tenant), context.Background()
	id := fmt.Sprintf("int-20260101-w%05d", w.rand.IntN(15))
	was, there := w.has[id]
	goal := fmt.Sprint("goal ", w.rand.Uint64())
	if !there {
		w.id, w.under = id, intent{goal: goal, status: "proposed"}
		d, err := r.Create(ctx, intentsOf, map[string]string{"intent_id": id, "actor": "user:ann", "goal": goal})
		return w.done(d, err)
	}
	if w.rand.IntN(4) == 0 {
		_, err := r.Update(ctx, intentsOf, id, map[string]string{"goal": "of nobody"}, rpc.AtRevision(was.revision+1))
		if !errors.Is(err, record.ErrConflict) {
			if err == nil {
				err = wrongf("%s was changed at the revision %d, and has %d", id, was.revision+1, was.revision)
			}
			return err
		}
	}
	w.id, w.under = id, was
	w.under.revision = 0
	to := next[was.status]
	switch k := w.rand.IntN(6); {
	case k < 3:
		w.under.goal = goal
		d, err := r.Update(ctx, intentsOf, id, map[string]string{"goal": goal}, rpc.AtRevision(was.revision))
		return w.done(d, err)
	case k < 5 && len(to) > 0:
		w.under.status = to[w.rand.IntN(len(to))]
		d, err := r.Transition(ctx, intentsOf, id, w.under.status, nil)
		return w.done(d, err)
	}
	w.under = intent{}
	d, err := r.Delete(ctx, intentsOf, id, rpc.AtRevision(was.revision))
	if err != nil {
		return err
	}
	if got, err := intentOf(d); err != nil || got != was {
		return wrongf("%s was %v when it was removed; acknowledged was %v: %v", id, got, was, err)
	}
	delete(w.has, id)
	w.id = ""
	return nil
}

// done takes note of the answer to a write.
func (w *intents) done(d rpc.Doc, err error) error {
	if err != nil {
		return err
	}
	got, err := intentOf(d)
	want := w.under
	want.revision = got.revision
	if err != nil || d.ID != w.id || got != want || got.revision <= w.last {
		return wrongf("the answer to a write of %s is %s %v, not %v after revision %d: %v", w.id, d.ID, got, want, w.last, err)
	}
	w.has[w.id], w.last, w.id = got, got.revision, ""
	return nil
}

func intentOf(d rpc.Doc) (intent, error) {
	var fields struct{ Goal, Status string }
	err := json.Unmarshal(d.JSON, &fields)
	return intent{fields.Goal, fields.Status, d.Revision}, err
}

func (w *intents) recount(c *rpc.Client) error {
	r, ctx := c.Records(w.tenant), context.Background()
	found, byStatus := map[string]intent{}, map[string][]string{}
	for d, err := range r.All(ctx, intentsOf, rpc.RecordQuery{All: true}) {
		if err != nil {
			return err
		}
		got, err := intentOf(d)
		if err != nil {
			return wrongf("%s: %s", d.ID, err)
		}
		found[d.ID] = got
		byStatus[got.status] = append(byStatus[got.status], d.ID)
	}
	for id, got := range found {
		d, err := r.Get(ctx, intentsOf, id)
		if err != nil {
			return err
		}
		if alone, err := intentOf(d); err != nil || alone != got {
			return wrongf("%s is %v in a list, and %v by itself: %v", id, got, alone, err)
		}
	}
	if w.id != "" {
		if err := w.settle(found[w.id]); err != nil {
			return err
		}
	}
	if !maps.Equal(found, w.has) {
		return wrongf("there are %v; acknowledged were %v", found, w.has)
	}
	return w.recountStatuses(r, byStatus)
}

// settle takes note of what has become of the write under way.
func (w *intents) settle(got intent) error {
	done := w.under
	if got.revision > w.last {
		done.revision = got.revision
	}
	switch {
	case got == w.has[w.id]:
	case got != done:
		return wrongf("%s is %v; acknowledged was %v, and under way what makes it %v", w.id, got, w.has[w.id], w.under)
	case got == (intent{}):
		delete(w.has, w.id)
	default:
		w.has[w.id], w.last = got, got.revision
	}
	w.id = ""
	return nil
}

// recountStatuses demands of an index that it leads to the records that have its terms.
func (w *intents) recountStatuses(r *rpc.Records, want map[string][]string) error {
	for _, status := range []string{"proposed", "in_planning", "executing", "blocked", "completed", "cancelled"} {
		var ids []string
		q := rpc.RecordQuery{All: true, Filters: []rpc.RecordFilter{record.Equal("by_status", status)}}
		for d, err := range r.All(context.Background(), intentsOf, q) {
			if err != nil {
				return err
			}
			ids = append(ids, d.ID)
		}
		slices.Sort(ids)
		slices.Sort(want[status])
		if !slices.Equal(ids, want[status]) {
			return wrongf("the index has the intents %v of status %s; there are %v", ids, status, want[status])
		}
	}
	return nil
}
