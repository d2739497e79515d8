package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc"
)

// news publishes events in a stream, which consumers of a group read and acknowledge. Each is
// there once, in order; of a batch there are all, or none; what was acknowledged does not
// come back, and what was not stays pending.
type news struct {
	tenant string
	rand   *rand.Rand
	ready  bool // the group is there

	ids     []event.ID        // of all entries
	had     int               // entries that consumers of the group have had
	pending map[uint64]string // consumers that have not acknowledged, by the numbers of entries

	publishing int    // how many events are under way
	reader     string // who is being given entries; "": nobody is
	acking     []event.ID
}

func newNews(r *rand.Rand, id byte) worker {
	return &news{tenant: fmt.Sprint("news", id), rand: r, pending: map[uint64]string{}}
}

const (
	newsStream  = event.Task
	newsGroup   = "torture"
	mostRead    = 4
	mostPending = 40
)

// newsOf is what the n-th entry says.
func newsOf(n int) string { return fmt.Sprintf(`{"news":%d}`, n) }

func (w *news) use(c *rpc.Client) error {
	e := c.Events(w.tenant)
	if !w.ready {
		_, err := e.CreateGroup(context.Background(), engine.Synced, newsStream, newsGroup, rpc.EventPlace{})
		w.ready = err == nil
		return err
	}
	k := w.rand.IntN(4)
	switch {
	case len(w.pending) >= mostPending, k == 0 && len(w.pending) > 0:
		return w.acknowledge(e)
	case k == 1 && w.had < len(w.ids):
		return w.read(e)
	}
	return w.publish(e)
}

func (w *news) publish(e *rpc.Events) error {
	var list []rpc.EventNew
	for i := range 1 + w.rand.IntN(3) {
		list = append(list, rpc.EventNew{Name: "task:news", Payload: json.RawMessage(newsOf(len(w.ids) + i)), Source: "torture"})
	}
	w.publishing = len(list)
	ids, err := e.Publish(context.Background(), engine.Synced, newsStream, list)
	if err != nil {
		return err
	}
	if len(ids) != len(list) {
		return wrongf("%d events were published as %v", len(list), ids)
	}
	for _, id := range ids {
		if err := w.add(id); err != nil {
			return err
		}
	}
	w.publishing = 0
	return nil
}

// add takes note of the next entry.
func (w *news) add(id event.ID) error {
	n := len(w.ids)
	if id.Seq != uint64(n+1) || n > 0 && id.Compare(w.ids[n-1]) <= 0 {
		return wrongf("entry %d of the stream was published as %s, after %v", n+1, id, w.ids[max(n-1, 0):])
	}
	w.ids = append(w.ids, id)
	return nil
}

// read gives a consumer the next entries.
func (w *news) read(e *rpc.Events) error {
	w.reader = []string{"a", "b"}[w.rand.IntN(2)]
	limit := 1 + w.rand.IntN(mostRead)
	list, err := e.ReadGroup(context.Background(), engine.Synced, rpc.EventConsumer{Stream: newsStream, Group: newsGroup, Name: w.reader}, limit, 0)
	if err != nil {
		return err
	}
	if len(list) != min(limit, len(w.ids)-w.had) {
		return wrongf("a consumer that asked for %d entries was given %d; %d of %d had been", limit, len(list), w.had, len(w.ids))
	}
	for _, entry := range list {
		if w.had >= len(w.ids) || entry.ID != w.ids[w.had] || string(entry.Payload) != newsOf(w.had) {
			return wrongf("a consumer was given %s, %s, instead of entry %d of %d", entry.ID, entry.Payload, w.had+1, len(w.ids))
		}
		w.pending[entry.ID.Seq] = w.reader
		w.had++
	}
	w.reader = ""
	return nil
}

func (w *news) acknowledge(e *rpc.Events) error {
	w.acking = nil
	for seq := range w.pending {
		if len(w.acking) == 0 || w.rand.IntN(2) == 0 {
			w.acking = append(w.acking, w.ids[seq-1])
		}
	}
	ids := w.acking
	for _, want := range []int{len(ids), 0} {
		n, err := e.Acknowledge(context.Background(), engine.Synced, newsStream, newsGroup, ids)
		if err != nil {
			return err
		}
		if n != want {
			return wrongf("%d entries of %v were acknowledged, of which %d were pending", n, ids, want)
		}
		w.acked()
	}
	return nil
}

func (w *news) acked() {
	for _, id := range w.acking {
		delete(w.pending, id.Seq)
	}
	w.acking = nil
}

func (w *news) recount(c *rpc.Client) error {
	e := c.Events(w.tenant)
	info, err := e.Info(context.Background(), newsStream)
	if err != nil {
		return err
	}
	total := int(info.Last.Seq)
	if total != len(w.ids) && total != len(w.ids)+w.publishing || info.Entries != uint64(min(total, event.Kept)) {
		return wrongf("the stream has %d entries, of %d; acknowledged were %d, and under way %d", info.Entries, total, len(w.ids), w.publishing)
	}
	if err := w.reread(e, total); err != nil {
		return err
	}
	w.publishing = 0
	if w.ready {
		err = w.regroup(e)
	}
	return err
}

// reread reads the entries that were published lately, and those that were under way.
func (w *news) reread(e *rpc.Events, total int) error {
	n, o := 0, rpc.EventRangeOptions{Limit: kv.MaxPage}
	if len(w.ids) > 100 {
		n = len(w.ids) - 100
		o.From = w.ids[n]
	}
	list, err := e.Range(context.Background(), newsStream, o)
	if err != nil {
		return err
	}
	if n+len(list) != total {
		return wrongf("%d entries are there behind the first %d, of %d", len(list), n, total)
	}
	for _, entry := range list {
		if n == len(w.ids) {
			if err := w.add(entry.ID); err != nil {
				return err
			}
		}
		if n > len(w.ids) || entry.ID != w.ids[n] || string(entry.Payload) != newsOf(n) {
			return wrongf("entry %d is %s, %s", n+1, entry.ID, entry.Payload)
		}
		n++
	}
	return nil
}

// regroup looks at where the group is, and what is pending in it.
func (w *news) regroup(e *rpc.Events) error {
	groups, err := e.ListGroups(context.Background(), newsStream)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(groups, func(g rpc.EventGroup) bool { return g.Name == newsGroup })
	if at < 0 {
		return wrongf("the group %s is not there", newsGroup)
	}
	had := int(groups[at].Last.Seq)
	if had != w.had && (w.reader == "" || had < w.had || had > w.had+mostRead) || had > len(w.ids) {
		return wrongf("the group has had %d entries; acknowledged were %d, of %d", had, w.had, len(w.ids))
	}
	for ; w.had < had; w.had++ {
		w.pending[uint64(w.had+1)] = w.reader
	}
	list, err := e.ListPending(context.Background(), newsStream, newsGroup, event.ID{}, kv.MaxPage)
	if err != nil {
		return err
	}
	found := map[uint64]string{}
	for _, p := range list {
		if found[p.ID.Seq] = p.Consumer; w.pending[p.ID.Seq] != p.Consumer {
			return wrongf("entry %d is pending for %q; acknowledged was that it is for %q", p.ID.Seq, p.Consumer, w.pending[p.ID.Seq])
		}
	}
	if n := len(w.acking); n > 0 && !slices.ContainsFunc(w.acking, func(id event.ID) bool { return found[id.Seq] != "" }) {
		w.acked()
	}
	for seq, consumer := range w.pending {
		if found[seq] == "" {
			return wrongf("entry %d, which %q was given and has not acknowledged, is not pending", seq, consumer)
		}
	}
	w.reader, w.acking = "", nil
	return nil
}
