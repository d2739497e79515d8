package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/rpc"
)

// allowances has several do at once what may be done a few times only within a week, which is
// longer than a store is used.
//
// All of a batch of calls begin together, so that their history is linearizable exactly if
// this holds: as many are allowed as may be still, each counted as another, and nobody beyond.
// That is so over a kill too, for which a check needs no sync.
type allowances struct {
	tenant     string
	rand       *rand.Rand
	durability engine.Durability

	made    int         // names that were limited
	most    int         // what may be done
	used    int         // what was allowed, as was acknowledged
	perhaps int         // how many calls have ended without an answer since the last recount
	spent   []allowance // earlier ones, of which nothing is left
}

// allowance is who has done something as often as may be.
type allowance struct{ name, most int }

func newAllowances(r *rand.Rand, id byte) worker {
	return &allowances{tenant: fmt.Sprint("allowances", id), rand: r, durability: engine.WAL}
}

func (w *allowances) expectCuts() { w.durability = engine.Synced }

func (w *allowances) check(c *rpc.Client, a allowance) (rpc.LimitVerdict, error) {
	return c.Limits(w.tenant).Check(context.Background(), limitOf(a.name), rpc.LimitRule{Max: a.most, Window: limit.MaxWindow}, w.durability)
}

func limitOf(name int) rpc.LimitName {
	return rpc.LimitName{Endpoint: "tasks:create", User: fmt.Sprint("user ", name)}
}

func (w *allowances) use(c *rpc.Client) error {
	if w.made == 0 || w.used == w.most && w.rand.IntN(2) == 0 {
		if w.made > 0 {
			w.spent = append(w.spent[max(len(w.spent)-3, 0):], allowance{w.made, w.most})
		}
		w.made++
		w.most, w.used = 1+w.rand.IntN(8), 0
	}
	type answer struct {
		rpc.LimitVerdict
		err error
	}
	answers := make([]answer, 1+w.rand.IntN(mostAtOnce))
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i].LimitVerdict, answers[i].err = w.check(c, allowance{w.made, w.most}) })
	}
	all.Wait()
	var failed error
	before, counted := w.used, map[int]bool{}
	for _, a := range answers {
		switch {
		case a.err != nil:
			failed = a.err
			w.perhaps++
		case a.Allowed && (counted[a.Count] || a.Count <= before || a.Count > w.most):
			return wrongf("one more was allowed of user %d, as number %d of %d; %d had been", w.made, a.Count, w.most, before)
		case a.Allowed:
			counted[a.Count] = true
			w.used++
		}
	}
	if w.used != min(before+len(answers), w.most) && failed == nil {
		return wrongf("%d of %d that asked at once were allowed of user %d; %d of %d had been", w.used-before, len(answers), w.made, before, w.most)
	}
	return failed
}

func (w *allowances) recount(c *rpc.Client) error {
	if w.made == 0 {
		return nil
	}
	l, err := c.Limits(w.tenant).Get(context.Background(), limitOf(w.made))
	if err != nil && !errors.Is(err, limit.ErrNotFound) {
		return err
	}
	if l.Count < w.used || l.Count > min(w.used+w.perhaps, w.most) {
		return wrongf("%d count of user %d; of %d, %d were allowed, and perhaps %d more", l.Count, w.made, w.most, w.used, w.perhaps)
	}
	w.used, w.perhaps = l.Count, 0
	for _, a := range w.spent {
		v, err := w.check(c, a)
		if err != nil {
			return err
		}
		if v.Allowed {
			return wrongf("one more was allowed of user %d, who had all %d", a.name, a.most)
		}
	}
	return nil
}
