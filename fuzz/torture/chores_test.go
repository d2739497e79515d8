package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc"
)

// chores has workers lease jobs, do them and fail at them, in a queue that the daemon leaves
// to others.
//
// Those that ask at once ask for one job each, and all begin together. So what they hear is
// linearizable exactly if this holds: as many are given one as there are jobs that nobody has,
// no two the same, with tokens greater than every one before. A job is done once: by the token
// of its last lease, and never by an older one.
type chores struct {
	tenant     string
	rand       *rand.Rand
	durability engine.Durability
	// byClock says that the daemon has another clock, by which leases may be over at any time.
	byClock bool

	made  int
	open  map[string]uint64 // jobs that are not done, with the token of the lease; 0: nobody has it
	stale map[string]uint64 // tokens of earlier leases of these
	done  []string          // the last that were done
	last  uint64            // the greatest token that was seen

	unsure  string // the job that a call under way is about; "": none is
	leasing bool   // leases are under way
	floor   uint64 // the greatest token that was seen before they were: of two, the answer with the greater one may be heard alone
}

func newChores(r *rand.Rand, id byte) worker {
	return &chores{tenant: fmt.Sprint("chores", id), rand: r, durability: engine.WAL, open: map[string]uint64{}, stale: map[string]uint64{}}
}

func (w *chores) expectCuts() { w.durability = engine.Synced }

func (w *chores) keepTime(*reckoning) { w.byClock = true }

const (
	choresQueue = job.Archive
	mostChores  = 8
	choreLease  = 55 * time.Minute // longer than a store is used
)

// in returns the jobs that nobody has, or those that somebody has.
func (w *chores) in(leased bool) (list []string) {
	for id, token := range w.open {
		if (token != 0) == leased {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

func (w *chores) use(c *rpc.Client) error {
	j, ready, leased := c.Jobs(w.tenant), w.in(false), w.in(true)
	switch k := w.rand.IntN(4); {
	case len(w.open) == 0, k == 0 && len(w.open) < mostChores:
		return w.enqueue(j)
	case len(leased) == 0, k == 1 && len(ready) > 0:
		return w.contend(j, len(ready))
	default:
		id := leased[w.rand.IntN(len(leased))]
		if k == 2 {
			return w.fail(j, id)
		}
		return w.complete(j, id)
	}
}

// over ends the call under way, unless it has failed.
func (w *chores) over(err error, then func()) error {
	if err == nil {
		then()
		w.unsure, w.leasing = "", false
	}
	return err
}

func (w *chores) enqueue(j *rpc.Jobs) error {
	w.made++
	id := fmt.Sprint("chore ", w.made)
	w.unsure = id
	_, made, err := j.Enqueue(context.Background(), w.durability, rpc.Job{ID: id, Queue: choresQueue, MaxAttempts: job.MaxAttempts})
	if err == nil && !made {
		return wrongf("%s was there when it was made", id)
	}
	return w.over(err, func() { w.open[id] = 0 })
}

// contend has up to four workers ask for a job at once.
func (w *chores) contend(j *rpc.Jobs, ready int) error {
	type answer struct {
		list []rpc.JobInfo
		err  error
	}
	answers := make([]answer, 1+w.rand.IntN(4))
	w.leasing, w.floor = true, w.last
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i].list, answers[i].err = j.Lease(context.Background(),
				rpc.JobLeaseOptions{Queue: choresQueue, Worker: fmt.Sprint("worker ", i), For: choreLease, Durability: w.durability})
		})
	}
	all.Wait()
	var failed error
	var given []rpc.JobInfo
	for _, a := range answers {
		if a.err != nil {
			failed = a.err
		}
		given = append(given, a.list...)
	}
	// Of two leases of a job, of which the first was over by the clock, the later one counts.
	slices.SortFunc(given, func(a, b rpc.JobInfo) int { return cmp.Compare(a.Token, b.Token) })
	for _, i := range given {
		token, there := w.open[i.ID]
		if !there || token != 0 && !w.byClock || i.Token <= w.floor {
			return wrongf("%s was leased to %s with the token %d, after one with %d; of those to be done: %t; it has been leased by the token %d", i.ID, i.Worker, i.Token, w.floor, there, token)
		}
		w.retire(i.ID)
		w.open[i.ID], w.last = i.Token, max(w.last, i.Token)
	}
	if len(given) != min(len(answers), ready) && failed == nil && !w.byClock {
		return wrongf("%d of %d that asked at once were given a job; there were %d that nobody has", len(given), len(answers), ready)
	}
	return w.over(failed, func() {})
}

// retire takes note that the lease of a job is over.
func (w *chores) retire(id string) {
	if token := w.open[id]; token != 0 {
		w.open[id], w.stale[id] = 0, token
	}
}

// late demands that a token which is none any more completes nothing.
func (w *chores) late(j *rpc.Jobs, id string, token uint64) error {
	err := j.Complete(context.Background(), w.durability, id, token)
	if err == nil {
		return wrongf("%s was completed by the token %d, which is none any more", id, token)
	}
	if errors.Is(err, job.ErrFenced) || errors.Is(err, job.ErrNotFound) {
		return nil
	}
	return err
}

// ended is what a call about a lease came to.
func (w *chores) ended(id string, err error, then func()) error {
	if errors.Is(err, job.ErrFenced) && w.byClock {
		w.unsure = ""
		w.retire(id)
		return nil
	}
	if errors.Is(err, job.ErrFenced) || errors.Is(err, job.ErrNotFound) {
		return wrongf("%s, leased by the token %d: %s", id, w.open[id], err)
	}
	return w.over(err, then)
}

func (w *chores) complete(j *rpc.Jobs, id string) error {
	if w.stale[id] != 0 {
		if err := w.late(j, id, w.stale[id]); err != nil {
			return err
		}
	}
	token := w.open[id]
	w.unsure = id
	err := j.Complete(context.Background(), w.durability, id, token)
	if err := w.ended(id, err, func() { w.finished(id) }); err != nil || w.open[id] != 0 {
		return err
	}
	return w.late(j, id, token)
}

// finished takes note that a job is done.
func (w *chores) finished(id string) {
	delete(w.open, id)
	delete(w.stale, id)
	w.done = append(w.done[max(len(w.done)-50, 0):], id)
}

func (w *chores) fail(j *rpc.Jobs, id string) error {
	w.unsure = id
	_, err := j.Fail(context.Background(), w.durability, id, w.open[id], "to be tried again", 0)
	return w.ended(id, err, func() { w.retire(id) })
}

// found returns the jobs that there are. One whose lease is over meanwhile is ready.
func (w *chores) found(j *rpc.Jobs) (map[string]rpc.JobInfo, error) {
	found := map[string]rpc.JobInfo{}
	for _, state := range []job.State{job.Leased, job.Scheduled, job.Ready, job.Dead} {
		for i, err := range j.All(context.Background(), rpc.JobListOptions{Queue: choresQueue, State: state}) {
			if err != nil {
				return nil, err
			}
			found[i.ID] = i
		}
	}
	return found, nil
}

func (w *chores) recount(c *rpc.Client) error {
	found, err := w.found(c.Jobs(w.tenant))
	if err != nil {
		return err
	}
	for id, token := range w.open {
		i, there := found[id]
		switch {
		case !there && id == w.unsure:
			w.finished(id)
		case !there:
			return wrongf("%s, which was not done, is not there", id)
		case i.State == job.Leased && i.Token == token:
		case i.State == job.Ready && (token == 0 || id == w.unsure || w.byClock):
			w.retire(id)
		case i.State == job.Leased && (token == 0 || w.byClock) && w.leasing && i.Token > w.floor:
			w.retire(id)
			w.open[id], w.last = i.Token, max(w.last, i.Token)
		default:
			return wrongf("%s is %s by the token %d; acknowledged was the token %d", id, i.State, i.Token, token)
		}
	}
	for id, i := range found {
		if _, open := w.open[id]; open {
			continue
		}
		if id != w.unsure || i.State != job.Ready {
			return wrongf("%s is %s; it was done: %t", id, i.State, slices.Contains(w.done, id))
		}
		w.open[id] = 0
	}
	w.unsure, w.leasing = "", false
	return nil
}
