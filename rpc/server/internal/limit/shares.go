package limit

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Shares are what users take of everything of which there is a limit. Any number of goroutines
// may use it, once all quotas are made.
type Shares struct {
	// Parts is into how many parts everything is divided, of which a user gets one while
	// others want some; at least 1.
	Parts int64

	// Shared is called once, when for the first time a user is connected beside another,
	// and one of them may not do everything; nil: nobody wants to know.
	Shared func()

	quotas []*Quota
	crowd  atomic.Int64 // users who are connected, without those who may do everything

	last  atomic.Pointer[User] // whose call was the last
	turns atomic.Int64         // how often that was another's than the one before

	mu     sync.Mutex
	users  map[who]*User
	here   int           // users who are connected
	shared bool          // Shared was called
	heavy  chan struct{} // has room for the heavy calls of all users that are made at once
}

// who is whom a User is of: processes of one user may have rights of their groups.
type who struct {
	uid     uint32
	trusted bool
}

// Quota returns a new quota. Memory says that it counts bytes that connections hold.
func (s *Shares) Quota(what string, limit int64, memory bool) *Quota {
	q := &Quota{What: what, Limit: limit, shares: s, at: len(s.quotas), bytes: memory}
	if q.at == maxQuotas {
		panic("limit: more quotas than a user has room for")
	}
	s.quotas = append(s.quotas, q)
	return q
}

// maxQuotas is how many quotas there may be.
const maxQuotas = 16

// User is what a user takes, of each quota.
type User struct {
	UID     uint32
	trusted bool
	used    [maxQuotas]atomic.Int64
	heavy   chan struct{} // has room for those that are made at once
	frames  pace          // of HTTP/2, in frames
	calls   pace          // in frames
	bytes   pace          // of streams of answers

	connections int // guarded by Shares.mu
}

// Account is what a connection takes, for its user.
type Account struct {
	shares *Shares
	user   *User
	most   int64 // bytes
	bytes  atomic.Int64
}

// heavyAtOnce is how many heavy calls are made at once for a user: each may have an answer in
// memory twice, of at most some 8 MiB, before it counts.
const heavyAtOnce = 2

// What a user may have done in a second: frames of HTTP/2, each of which costs something before
// anybody has looked at it; and for each processor, while others want some, calls in frames, and KiB of
// streams of answers. A tenth of a second's comes at once.
const (
	framesPerSecond = 20_000
	callsPerSecond  = 20_000
	kibPerSecond    = 64 << 10
)

// Join returns the account of a new connection, which may hold so many bytes. Those who may do
// everything are trusted: for them there are the limits of all alone. The account is to be
// [Shares.Leave]d.
func (s *Shares) Join(uid uint32, trusted bool, most int64) *Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[who{uid, trusted}]
	if u == nil {
		s.sweep()
		u = &User{UID: uid, trusted: trusted, heavy: make(chan struct{}, heavyAtOnce), frames: paceOf(framesPerSecond), calls: paceOf(callsPerSecond * processors), bytes: paceOf(kibPerSecond * processors)}
		s.users[who{uid, trusted}] = u
	}
	if u.connections++; u.connections == 1 {
		if s.here++; !trusted {
			s.crowd.Add(1)
		}
		if s.here > 1 && s.crowd.Load() > 0 && !s.shared && s.Shared != nil {
			s.shared = true
			s.Shared()
		}
	}
	return &Account{shares: s, user: u, most: most}
}

// Leave ends an account. What it has taken still counts until it is given back.
func (s *Shares) Leave(a *Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.user.connections--; a.user.connections == 0 {
		if s.here--; !a.user.trusted {
			s.crowd.Add(-1)
		}
	}
}

// manyUsers is from how many users on those are forgotten who have nothing.
const manyUsers = 1024

// sweep forgets who has nothing, where there are many. The caller holds mu.
func (s *Shares) sweep() {
	if s.users == nil {
		s.users = make(map[who]*User)
		s.heavy = make(chan struct{}, max(processors-1, 1))
	}
	if len(s.users) < manyUsers {
		return
	}
	maps.DeleteFunc(s.users, func(_ who, u *User) bool {
		return u.connections == 0 && !slices.ContainsFunc(s.quotas, func(q *Quota) bool { return u.used[q.at].Load() != 0 })
	})
}

// Use is what a user has of one quota, and may have.
type Use struct {
	What               string
	Used, Share, Limit int64
}

// Taken returns what each user who is connected has, by uid.
func (s *Shares) Taken() map[uint32][]Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[uint32][]Use)
	for who, u := range s.users {
		if u.connections == 0 {
			continue
		}
		for _, q := range s.quotas {
			own := u.used[q.at].Load()
			all[who.uid] = append(all[who.uid], Use{q.What, own, q.Share(&Account{user: u}, q.Used()-own), q.Limit})
		}
	}
	return all
}

// Limited reports whether there are limits for the user of the account alone.
func (a *Account) Limited() bool { return a != nil && !a.user.trusted }

// Room returns how many bytes the connection may hold.
func (a *Account) Room() int64 { return a.most }

// Heavy calls work, that takes the processor for long: a call with a large request, or one whose
// answer may be large. Only so many are made at once for a user, and for all who may not do
// everything one less than there are processors, if there are more than one: so that who asks
// for little is not behind them. They come in turn; and after one during which others called,
// too, none begins for as long as it took.
func (a *Account) Heavy(ctx context.Context, work func() error) error {
	if !a.Limited() {
		return work()
	}
	leave, err := a.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return work()
}

// Enter waits for the turn of a heavy call of a user who may not do everything, and returns what
// ends it.
func (a *Account) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case a.user.heavy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a.shares.heavy <- struct{}{}:
	case <-ctx.Done():
		<-a.user.heavy
		return nil, ctx.Err()
	}
	begun, turns := time.Now(), a.shares.turns.Load()
	return func() {
		<-a.user.heavy
		if a.shares.turns.Load() == turns {
			<-a.shares.heavy
			return
		}
		time.AfterFunc(time.Since(begun), func() { <-a.shares.heavy })
	}, nil
}

// Called notes a call: who has heavy ones leaves room for it.
func (a *Account) Called() {
	if a != nil && a.shares.last.Load() != a.user {
		a.shares.last.Store(a.user)
		a.shares.turns.Add(1)
	}
}

// Frames waits until the user may have sent so many frames of HTTP/2.
func (a *Account) Frames(n int) { a.user.frames.wait(n) }

// Calls waits until the user may have made so many calls, while others want some.
func (a *Account) Calls(n int) {
	if a.crowded() {
		a.user.calls.wait(n)
	}
}

// Sent waits until the user may have been sent so many bytes of streams, while others want some.
func (a *Account) Sent(bytes int) {
	if a.crowded() {
		a.user.bytes.wait(bytes >> 10)
	}
}

// crowded reports whether the user has limits, and others want some.
func (a *Account) crowded() bool { return a.Limited() && a.shares.crowd.Load() > 1 }

// processors is how many there are: as Go says at the start, since the daemon may go on to run Go
// code on more threads than that.
var processors = runtime.GOMAXPROCS(0)

// pace says how long to wait so that no more comes in a time than may: it is the generic cell rate
// algorithm (ITU-T I.371).
type pace struct {
	every time.Duration
	burst int

	mu sync.Mutex
	at time.Time // when what has come would have come, at this pace
}

func paceOf(perSecond int) pace {
	return pace{every: time.Second / time.Duration(perSecond), burst: perSecond / 10}
}

// wait waits for n more.
func (p *pace) wait(n int) {
	if d := p.next(n, time.Now()); d > 0 {
		time.Sleep(d)
	}
}

// next returns how long to wait for n more.
func (p *pace) next(n int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := now.Add(-time.Duration(p.burst) * p.every); p.at.Before(first) {
		p.at = first
	}
	p.at = p.at.Add(time.Duration(n) * p.every)
	return p.at.Sub(now)
}
