package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// uses has several ask at once whether they may do something that may be done a few times
// only, and has each answer logged.
//
// So few of one kind of call are under way at once, and all begin together, that their
// history is linearizable exactly if this holds: the delegation counts each that was
// allowed, and never more than it may; who was refused as it was exhausted is right if it
// is so when all have ended; the numbers of events are given once, each after those of
// calls that had ended before.
type uses struct {
	tenant string
	rand   *rand.Rand
	ready  bool // the records that are decided by are there

	delegation string // "": the next is to be made
	made       int    // delegations
	most       int    // how often it may be used
	used       int    // how often that was acknowledged
	events     []policy.EventID
	// perhaps is how many calls have ended without an answer since the last recount, and
	// exhausted that one had the answer that it may be used no more.
	perhaps   int
	exhausted bool
}

func newUses(r *rand.Rand, id byte) worker {
	return &uses{tenant: fmt.Sprint("uses", id), rand: r}
}

const (
	usedBy     = "agent:a"
	usedFor    = "int-20260101-torture"
	mostAtOnce = 4
	mostToPay  = 100
)

// there returns err, but for what is refused since it was made before.
func there(err error) error {
	if errors.Is(err, record.ErrAlreadyExists) {
		return nil
	}
	return err
}

// begin makes what is decided by.
func (w *uses) begin(c *rpc.Client) error {
	r, ctx := c.Records(w.tenant), context.Background()
	_, err := r.Create(ctx, policy.Intents, json.RawMessage(`{"intent_id":"`+usedFor+`","actor":"user:ann","goal":"to be done"}`))
	if err = there(err); err == nil {
		_, err = r.Create(ctx, policy.Policies, json.RawMessage(fmt.Sprintf(
			`{"policy_id":"pol-20260101-torture","scope":"pay.*","name":"limit","created_by":"user:ann","rules":[{"rule_id":"r","condition":"amount > %d","action":"deny","priority":1}]}`, mostToPay)))
	}
	w.ready = there(err) == nil
	return there(err)
}

func (w *uses) use(c *rpc.Client) error {
	if !w.ready {
		return w.begin(c)
	}
	if w.delegation == "" {
		return w.delegate(c)
	}
	if err := w.ask(c.Policy(w.tenant)); err != nil {
		return err
	}
	type answer struct {
		rpc.Used
		err error
	}
	answers := make([]answer, 1+w.rand.IntN(mostAtOnce))
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			a := &answers[i]
			a.Used, a.err = c.Policy(w.tenant).Use(context.Background(), rpc.Question{Agent: usedBy, Action: w.action(), Context: json.RawMessage(`{"amount":1}`)},
				rpc.UseOptions{Log: true, Intent: usedFor})
		})
	}
	all.Wait()
	var failed error
	before := len(w.events)
	for _, a := range answers {
		switch {
		case a.err != nil:
			failed = a.err
			w.perhaps++
			continue
		case a.Allowed && a.Delegation == w.delegation:
			w.used++
		case !a.Allowed && a.Reason == policy.ReasonExhausted:
			w.exhausted = true
		default:
			return wrongf("%s was decided as %+v", w.delegation, a.Decision)
		}
		id, ok := policy.ParseEventID(a.Event)
		if !ok || before > 0 && w.events[before-1].Compare(id) >= 0 {
			return wrongf("a use was logged as %q, after %v", a.Event, w.events[max(before-1, 0):before])
		}
		w.events = append(w.events, id)
	}
	slices.SortFunc(w.events[before:], policy.EventID.Compare)
	for i := 1; i < len(w.events); i++ {
		if w.events[i-1] == w.events[i] {
			return wrongf("two uses were logged as %v", w.events[i])
		}
	}
	if failed != nil {
		return failed
	}
	return w.counted(c)
}

// action is what the delegation allows.
func (w *uses) action() string { return fmt.Sprint("pay.d", w.made) }

// delegate makes a delegation, with a policy below which it may be used a few times.
func (w *uses) delegate(c *rpc.Client) error {
	w.made++
	w.most, w.used, w.perhaps, w.exhausted = 1+w.rand.IntN(12), 0, 0, false
	id := fmt.Sprintf("del-20260101-w%05d", w.made)
	_, err := c.Records(w.tenant).Create(context.Background(), policy.Delegations, json.RawMessage(fmt.Sprintf(
		`{"delegation_id":%q,"delegator":"user:ann","delegate":%q,"scope":[%q],"constraints":{"max_uses":%d}}`, id, usedBy, w.action(), w.most)))
	if err == nil {
		w.delegation = id
	}
	return err
}

// ask demands the answer that the records give, however often it is asked for.
func (w *uses) ask(p *rpc.Policy) error {
	amount := mostToPay + w.rand.IntN(2)
	d, err := p.Decide(context.Background(), rpc.Question{Agent: usedBy, Action: w.action(), Context: json.RawMessage(fmt.Sprintf(`{"amount":%d}`, amount))})
	if err != nil {
		return err
	}
	if want := amount <= mostToPay && w.used < w.most; d.Allowed != want {
		return wrongf("%s, used %d times of %d, for %d: %+v", w.delegation, w.used, w.most, amount, d)
	}
	return nil
}

// counted compares how often the delegation was used with what it says itself.
func (w *uses) counted(c *rpc.Client) error {
	d, err := c.Records(w.tenant).Get(context.Background(), policy.Delegations, w.delegation)
	if err != nil {
		return err
	}
	var says struct {
		Uses int `json:"uses_count"`
	}
	if err := json.Unmarshal(d.JSON, &says); err != nil {
		return wrongf("%s: %s", w.delegation, err)
	}
	if says.Uses < w.used || says.Uses > min(w.used+w.perhaps, w.most) || w.exhausted && says.Uses != w.most {
		return wrongf("%s counts %d uses; of %d, %d were acknowledged, and perhaps %d more were made; exhausted: %t", w.delegation, says.Uses, w.most, w.used, w.perhaps, w.exhausted)
	}
	w.used, w.perhaps, w.exhausted = says.Uses, 0, false
	if w.used == w.most && w.rand.IntN(4) == 0 {
		w.delegation = ""
	}
	return nil
}

func (w *uses) recount(c *rpc.Client) error {
	p := c.Policy(w.tenant)
	if !w.ready {
		return nil
	}
	perhaps := w.perhaps
	if w.delegation != "" {
		if err := w.counted(c); err != nil {
			return err
		}
	}
	for f, err := range p.Verify(context.Background()) {
		if err != nil {
			return err
		}
		return wrongf("the ledger does not verify: %+v", f)
	}
	var events []policy.EventID
	for d, err := range p.Events(context.Background(), time.Time{}, time.Time{}) {
		if err != nil {
			return err
		}
		id, ok := policy.ParseEventID(d.ID)
		if n := len(events); !ok || id.Number != 1 && (n == 0 || id != policy.EventID{Day: events[n-1].Day, Number: events[n-1].Number + 1}) || id.Number == 1 && n > 0 && events[n-1].Day >= id.Day {
			return wrongf("the ledger has %s after %v", d.ID, events[max(n-1, 0):n])
		}
		events = append(events, id)
	}
	for _, id := range w.events {
		if _, there := slices.BinarySearchFunc(events, id, policy.EventID.Compare); !there {
			return wrongf("the event %v, which was acknowledged, is not there", id)
		}
	}
	if len(events) > len(w.events)+perhaps {
		return wrongf("there are %d events; %d were acknowledged, and perhaps %d more were made", len(events), len(w.events), perhaps)
	}
	w.events = events
	return nil
}
