//go:build cgo

package job

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv/kvtest"
)

// doomed says to a process of this test how many came before it, and the directory that it
// writes to until it is killed, as 2@DIR.
const doomed = "STOA_JOB_DOOMED"

// leasedJob is a job as its workers see it. Of a lease that nobody heard of the token is 0.
type leasedJob struct {
	There, Leased bool
	Token, Last   uint64 // of the lease, and the greatest that there was
}

// labour is what is done with a job: "add", "lease", "done" or "fail" by a token, "get",
// and "over": the leases of a process that is dead have come to their end.
type labour struct {
	Op, Job string
	Token   uint64
}

// laboured is what comes of it: whether there was such a job, or lease, and the token.
type laboured struct {
	OK    bool
	Token uint64
}

// oneAtATime is what becomes of a job.
func oneAtATime(s leasedJob, in labour, out *laboured) (leasedJob, bool) {
	heard := laboured{}
	if out != nil {
		heard = *out
	}
	mine := s.Leased && s.Token == in.Token
	want := false
	switch in.Op {
	case "add":
		want = !s.There
		s.There = true
	case "lease":
		if want = s.There && !s.Leased; want {
			if out != nil && heard.Token <= s.Last {
				return s, false
			}
			s.Leased, s.Token, s.Last = true, heard.Token, max(s.Last, heard.Token)
		}
	case "done":
		if want = mine; want {
			s = leasedJob{Last: s.Last}
		}
	case "fail":
		if want = mine; want {
			s.Leased, s.Token = false, 0
		}
	case "get":
		want = s.There
	case "over":
		want, s.Leased, s.Token = true, false, 0
	}
	return s, out == nil || heard.OK == want
}

// Workers lease the same few jobs, end their leases by old tokens and new ones, and are
// killed at random moments, until their leases are over: of each job that is linearizable.
// So one at a time does it, whoever is late is fenced, and what was done is not done again.
func TestA86AProcessOfWorkersIsKilled(t *testing.T) {
	if value := os.Getenv(doomed); value != "" {
		n, dir, _ := strings.Cut(value, "@")
		before, err := strconv.Atoi(n)
		require.NoError(t, err)
		labourUntilKilled(t, before, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(86, 87))
	var history kvtest.History[labour, laboured]
	for n := range max(enginetest.Scale(3), 2) {
		history.Add(t, enginetest.UntilKilled(t, doomed, fmt.Sprint(n, "@", dir), time.Duration(random.IntN(40_000))*time.Microsecond))
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		h := openHost(t, db, clockOf(n+1), Options{})
		h.over()
		for _, id := range contested {
			history.Do(labour{Op: "over", Job: id}, laboured{OK: true})
			out := h.labour(labour{Op: "get", Job: id})
			history.Do(labour{Op: "get", Job: id}, out)
		}
		h.end()
		require.NoError(t, db.Close())
	}
	kvtest.Linearizable(t, &history, kvtest.Rule[leasedJob, labour, laboured]{Of: func(in labour) string { return in.Job }, Step: oneAtATime})
	t.Logf("%d operations", history.Answered())
}

// contested are the jobs that all workers want.
var contested = []string{"a", "b", "c"}

// clockOf is the clock of the process after n: it stands still, and what those before it
// had leased is over by it.
func clockOf(n int) *kvtest.Clock {
	clock := kvtest.New()
	clock.Pass(time.Duration(n) * 2 * MaxLease)
	return clock
}

// over waits until the leases of another process are over.
func (h *host) over() {
	require.Eventually(h.t, func() bool { return h.in(Leased) == "" }, time.Minute, 50*time.Microsecond)
}

func (h *host) labour(in labour) (out laboured) {
	var err error
	switch in.Op {
	case "add":
		_, out.OK, err = h.Add(ctx, engine.WAL, Job{ID: in.Job, Queue: Archive, MaxAttempts: MaxAttempts})
	case "lease":
		var list []Info
		list, err = h.Lease(ctx, LeaseOptions{Queue: Archive, ID: in.Job, Worker: "w", For: MaxLease, Durability: engine.WAL})
		if out.OK = len(list) > 0; out.OK {
			out.Token = list[0].Token
		}
	case "done":
		err = h.Done(ctx, engine.WAL, in.Job, in.Token)
		out.OK = err == nil
	case "fail":
		_, err = h.Fail(ctx, engine.WAL, in.Job, in.Token, "to be tried again", 0)
		out.OK = err == nil
	case "get":
		_, err = h.Get(in.Job)
		out.OK = err == nil
	}
	if !errors.Is(err, ErrFenced) && !errors.Is(err, ErrNotFound) {
		require.NoError(h.t, err)
	}
	return out
}

func labourUntilKilled(t *testing.T, before int, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := openHost(t, db, clockOf(before), Options{})
	h.over()
	var all sync.WaitGroup
	var mu sync.Mutex
	tokens := map[string][]uint64{}
	for client := range 4 {
		random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(client)))
		all.Go(func() {
			for {
				in := labour{Op: []string{"add", "lease", "lease", "done", "fail", "get"}[random.IntN(6)], Job: contested[random.IntN(len(contested))]}
				mu.Lock()
				known := tokens[in.Job]
				mu.Unlock()
				if in.Op == "done" || in.Op == "fail" { // mostly by the last that is known
					if len(known) == 0 {
						continue
					}
					in.Token = known[max(len(known)-1-random.IntN(4)/2, 0)]
				}
				out := kvtest.Tell(client, in, func() laboured { return h.labour(in) })
				if in.Op == "lease" && out.OK {
					mu.Lock()
					tokens[in.Job] = append(tokens[in.Job], out.Token)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
}

// The judge says no to two workers at once, to one that is late, to a job that is done twice,
// and to one that is lost.
func TestTheJudgeOfLeasesFindsMistakes(t *testing.T) {
	leased := leasedJob{There: true, Leased: true, Token: 5, Last: 5}
	for _, tc := range []struct {
		leasedJob
		labour
		laboured
	}{
		{leased, labour{Op: "lease"}, laboured{true, 6}},
		{leased, labour{Op: "done", Token: 4}, laboured{OK: true}},
		{leasedJob{Last: 5}, labour{Op: "done", Token: 5}, laboured{OK: true}},
		{leasedJob{There: true, Last: 5}, labour{Op: "lease"}, laboured{true, 5}},
		{leasedJob{There: true}, labour{Op: "get"}, laboured{}},
		{leasedJob{}, labour{Op: "lease"}, laboured{true, 1}},
	} {
		_, ok := oneAtATime(tc.leasedJob, tc.labour, &tc.laboured)
		require.False(t, ok, "%+v", tc)
	}
}
