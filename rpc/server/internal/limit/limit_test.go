package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

func TestAQuotaTakesUpToItsLimit(t *testing.T) {
	s := Shares{Parts: 4}
	q := s.Quota(WhatRequests, 10, true)
	for _, a := range []*Account{nil, s.Join(0, true, 3)} {
		require.NoError(t, q.Take(a, 4))
		require.NoError(t, q.Take(a, 6))
		err := q.Take(a, 1)
		require.ErrorIs(t, err, rpc.ErrBusy)
		require.ErrorContains(t, err, "no more than 10 bytes of requests at once")
		require.EqualValues(t, 10, q.Used(), "what is refused is not taken")
		q.Give(a, 4)
		require.NoError(t, q.Take(a, 1))
		q.Give(a, 7)
	}
	require.ErrorContains(t, Busy(WhatScans, 3), "no more than 3 scans at once")
}

func TestWhatIsRefusedIsInNobodysWay(t *testing.T) {
	s := Shares{Parts: 4}
	q := s.Quota(WhatRequests, 10, true)
	require.NoError(t, q.Take(nil, 2))
	var over atomic.Bool
	var refused sync.WaitGroup
	for _, a := range []*Account{nil, s.Join(0, true, 10), s.Join(7, false, 10)} {
		refused.Go(func() {
			for !over.Load() {
				if q.Take(a, 10) == nil {
					t.Error("ten were taken beside two")
					return
				}
			}
		})
	}
	for range 100_000 {
		require.NoError(t, q.Take(nil, 1))
		q.Give(nil, 1)
	}
	over.Store(true)
	refused.Wait()
	require.EqualValues(t, 2, q.Used())
}

func TestAConnectionHoldsWhatItMay(t *testing.T) {
	s := Shares{Parts: 4}
	requests, answers, scans := s.Quota(WhatRequests, 1000, true), s.Quota(WhatAnswers, 1000, true), s.Quota(WhatScans, 1000, false)
	a, b := s.Join(7, false, 100), s.Join(7, false, 100)
	require.NoError(t, requests.Take(a, 60))
	err := answers.Take(a, 41)
	require.ErrorIs(t, err, rpc.ErrBusy, "requests and answers count together")
	require.EqualError(t, err, "rpc: busy: no more than 100 bytes of answers of one connection at once, here uid 7; try again later")
	require.NoError(t, answers.Take(a, 40))
	require.NoError(t, scans.Take(a, 200), "what is no memory has no limit of a connection")
	require.NoError(t, requests.Take(b, 100), "another connection has its own")
	requests.Give(a, 60)
	require.NoError(t, answers.Take(a, 60))
	err = TooLarge(101, a)
	require.ErrorIs(t, err, engine.ErrTooLarge)
	require.ErrorContains(t, err, "a message of 101 bytes, where a connection of uid 7 may hold 100 (stoa serve --connection-memory)")
}

func TestAUserGetsItsShare(t *testing.T) {
	s := Shares{Parts: 4}
	q := s.Quota(WhatScans, 800, false)
	greedy, host := s.Join(1, false, 0), s.Join(0, true, 0)
	require.NoError(t, q.Take(greedy, 350), "half of all but an eighth, while nobody else is there")
	err := q.Take(greedy, 1)
	require.ErrorIs(t, err, rpc.ErrBusy)
	require.EqualError(t, err, "rpc: busy: no more than 350 scans of one user at once, here uid 1; try again later")
	other := s.Join(2, false, 0)
	require.NoError(t, q.Take(other, 175), "half of what is left")
	require.ErrorContains(t, q.Take(other, 1), "no more than 175 scans of one user")
	q.Give(greedy, 200)
	require.ErrorContains(t, q.Take(greedy, 51), "no more than 200 scans of one user", "a quarter of all, now that others want some")
	require.NoError(t, q.Take(greedy, 50))
	again := s.Join(1, false, 0)
	require.Error(t, q.Take(again, 1), "another connection is the same user")
	require.NoError(t, q.Take(host, 800-375), "who may do everything may have all")
	require.ErrorContains(t, q.Take(host, 1), "no more than 800 scans at once")
	require.Error(t, q.Take(other, 1))

	require.Equal(t, map[uint32][]Use{0: {{WhatScans, 425, 425, 800}}, 1: {{WhatScans, 200, 50, 800}}, 2: {{WhatScans, 175, 37, 800}}}, s.Taken())
	for a, n := range map[*Account]int64{greedy: 200, other: 175, host: 425} {
		q.Give(a, n)
	}
	for _, a := range []*Account{greedy, again, other} {
		s.Leave(a)
	}
	require.Len(t, s.Taken(), 1)
	require.NoError(t, q.Take(s.Join(3, false, 0), 350), "who has gone wants nothing")
}

// TestThereIsSomethingForWhoComesNext: whatever greedy users take and however many there are,
// one more gets something, and who may do everything an eighth.
func TestThereIsSomethingForWhoComesNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shares{Parts: rapid.Int64Range(1, 8).Draw(t, "parts")}
		most := rapid.Int64Range(1<<12, 1<<20).Draw(t, "limit")
		q := s.Quota(WhatScans, most, false)
		var all []*Account
		have := map[*Account]int64{}
		for i := range rapid.IntRange(1, 6).Draw(t, "users") {
			all = append(all, s.Join(uint32(i+1), false, 0))
		}
		total := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				a, n := rapid.SampledFrom(all).Draw(t, "user"), rapid.Int64Range(1, most).Draw(t, "n")
				if q.Take(a, n) == nil {
					have[a], total = have[a]+n, total+n
				}
			},
			"take all": func(t *rapid.T) {
				for _, a := range all {
					for n := most; n > 0; n /= 2 {
						if q.Take(a, n) == nil {
							have[a], total = have[a]+n, total+n
						}
					}
				}
			},
			"give": func(t *rapid.T) {
				a := rapid.SampledFrom(all).Draw(t, "user")
				if n := have[a]; n > 0 {
					n = rapid.Int64Range(1, n).Draw(t, "n")
					q.Give(a, n)
					have[a], total = have[a]-n, total-n
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, total, q.Used())
				require.LessOrEqual(t, total, most-most/reserve)
				next := s.Join(99, false, 0)
				require.NoError(t, q.Take(next, 1))
				q.Give(next, 1)
				s.Leave(next)
				host := s.Join(0, true, 0)
				require.NoError(t, q.Take(host, most/reserve))
				q.Give(host, most/reserve)
				s.Leave(host)
			},
		})
	})
}

func TestUsersWhoHaveNothingAreForgotten(t *testing.T) {
	s := Shares{Parts: 4}
	q := s.Quota(WhatScans, 1<<20, false)
	kept := s.Join(1, false, 0)
	require.NoError(t, q.Take(kept, 1))
	s.Leave(kept)
	for uid := range uint32(4 * manyUsers) {
		s.Leave(s.Join(uid+2, false, 0))
	}
	require.LessOrEqual(t, len(s.users), manyUsers+1)
	require.Contains(t, s.users, who{1, false}, "who has something is remembered")
	require.Zero(t, s.crowd.Load())
}

func TestHeavyCallsAreMadeAFewAtATime(t *testing.T) {
	s := Shares{Parts: 4}
	a, other, host := s.Join(1, false, 0), s.Join(2, false, 0), s.Join(0, true, 0)
	room := cap(s.heavy)
	require.Equal(t, max(processors-1, 1), room)
	atOnce := min(heavyAtOnce, room)
	inside, leave, done := make(chan struct{}, 8), make(chan struct{}), make(chan error, 8)
	read := func() error {
		inside <- struct{}{}
		<-leave
		return nil
	}
	for range 6 {
		go func() { done <- a.Heavy(t.Context(), read) }()
	}
	for range atOnce {
		<-inside
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.Heavy(ctx, func() error { panic("there is no room") }), context.Canceled)
	require.NoError(t, host.Heavy(ctx, func() error { return nil }), "those who may do everything do not wait")
	require.Empty(t, inside)
	go func() { done <- other.Heavy(t.Context(), read) }()
	close(leave)
	for range 6 + 1 {
		require.NoError(t, <-done)
	}
	require.Empty(t, s.heavy)
}

func TestWhoSharesIsNoticedOnce(t *testing.T) {
	for _, step := range []struct {
		name    string
		trusted []bool // one user after another
		noticed int
	}{
		{"one user", []bool{false}, 0},
		{"of those who may do everything", []bool{true, true, true}, 0},
		{"one beside the host", []bool{true, false, false}, 1},
		{"the host beside one", []bool{false, true}, 1},
	} {
		t.Run(step.name, func(t *testing.T) {
			noticed := 0
			s := Shares{Parts: 4, Shared: func() { noticed++ }}
			for uid, trusted := range step.trusted {
				s.Join(uint32(uid), trusted, 0)
				s.Leave(s.Join(uint32(uid), trusted, 0)) // another connection of the same
			}
			require.Equal(t, step.noticed, noticed)
		})
	}
	s := Shares{Parts: 4, Shared: func() { t.Error("one after another do not share") }}
	for uid := range uint32(3) {
		s.Leave(s.Join(uid, false, 0))
	}
}

func TestHeavyCallsRestWhileOthersCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Shares{Parts: 4}
		a, other, host := s.Join(1, false, 0), s.Join(2, false, 0), s.Join(0, true, 0)
		began := func(during func()) (after time.Duration) {
			a.Called()
			require.NoError(t, a.Heavy(t.Context(), func() error { time.Sleep(time.Second); during(); return nil }))
			for range cap(s.heavy) - 1 { // there is room for one more
				s.heavy <- struct{}{}
			}
			ended := time.Now()
			require.NoError(t, other.Heavy(t.Context(), func() error { after = time.Since(ended); return nil }))
			for range cap(s.heavy) - 1 {
				<-s.heavy
			}
			return after
		}
		require.Zero(t, began(func() {}))
		require.Zero(t, began(a.Called), "its own are no others'")
		require.Equal(t, time.Second, began(other.Called))
		require.Equal(t, time.Second, began(host.Called))
	})
}

func TestAPaceIsKept(t *testing.T) {
	p, now := pace{every: time.Millisecond, burst: 10}, time.Unix(1000, 0)
	require.LessOrEqual(t, p.next(10, now), time.Duration(0), "at once")
	require.Equal(t, 5*time.Millisecond, p.next(5, now))
	require.Equal(t, 6*time.Millisecond, p.next(1, now), "others wait behind it")
	require.Equal(t, time.Millisecond, p.next(0, now.Add(5*time.Millisecond)))
	require.LessOrEqual(t, p.next(10, now.Add(time.Hour)), time.Duration(0), "what was not used is not kept for ever")
	require.Equal(t, time.Millisecond, p.next(1, now.Add(time.Hour)))
}

func TestPagesOfScansShrinkWithTheirNumber(t *testing.T) {
	scans := Quota{Limit: 1 << 20}
	require.Equal(t, wire.MaxPage, PageSize(&scans))
	require.NoError(t, scans.Take(nil, 64))
	require.Equal(t, allPages/3/64, PageSize(&scans))
	require.NoError(t, scans.Take(nil, 1<<20-64))
	require.Equal(t, minPage, PageSize(&scans))
}

// Users who are connected are not forgotten, though they have nothing now.
func TestUsersWhoAreConnectedAreRemembered(t *testing.T) {
	s := Shares{Parts: 4}
	here := s.Join(1, false, 0)
	for uid := range uint32(2 * manyUsers) {
		s.Leave(s.Join(uid+2, false, 0))
	}
	require.Same(t, here.user, s.users[who{1, false}])
	s.Leave(here)
}

// What streams send to one user waits for its pace while others want some, and not else.
func TestStreamsKeepTheirPaceWhileOthersWantSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Shares{Parts: 4}
		a := s.Join(1, false, 0)
		took := func() time.Duration {
			began := time.Now()
			for range 20 {
				a.Sent(kibPerSecond << 10 * processors / 10)
			}
			return time.Since(began)
		}
		require.Zero(t, took(), "alone")
		s.Join(2, false, 0)
		require.Greater(t, took(), time.Second)
	})
}
