package limit

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Shares are what users take of everything of which there is a limit. Any number of goroutines
// may use it, once all quotas are made.
type Shares struct {
	// Parts is into how many parts everything is divided, of which a user gets one while
	// others want some; at least 1.
	Parts int64

	quotas []*Quota
	crowd  atomic.Int64 // users who are connected, without those who may do everything

	mu    sync.Mutex
	users map[who]*User
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
	reads   chan struct{} // has room for those that are made at once

	connections int // guarded by Shares.mu
}

// Account is what a connection takes, for its user.
type Account struct {
	user  *User
	most  int64 // bytes
	bytes atomic.Int64
}

// readsAtOnce is how many reads whose answers may be large are made at once for a user: each
// has its answer in memory twice, at most some 8 MiB, before it counts.
const readsAtOnce = 4

// Join returns the account of a new connection, which may hold so many bytes. Those who may do
// everything are trusted: for them there are the limits of all alone. The account is to be
// [Shares.Leave]d.
func (s *Shares) Join(uid uint32, trusted bool, most int64) *Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[who{uid, trusted}]
	if u == nil {
		s.sweep()
		u = &User{UID: uid, trusted: trusted, reads: make(chan struct{}, readsAtOnce)}
		s.users[who{uid, trusted}] = u
	}
	if u.connections++; u.connections == 1 && !trusted {
		s.crowd.Add(1)
	}
	return &Account{user: u, most: most}
}

// Leave ends an account. What it has taken still counts until it is given back.
func (s *Shares) Leave(a *Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.user.connections--; a.user.connections == 0 && !a.user.trusted {
		s.crowd.Add(-1)
	}
}

// manyUsers is from how many users on those are forgotten who have nothing.
const manyUsers = 1024

// sweep forgets who has nothing, where there are many. The caller holds mu.
func (s *Shares) sweep() {
	if s.users == nil {
		s.users = make(map[who]*User)
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

// Read calls read, one of those whose answers may be large, of which only so many are made at
// once for a user.
func (a *Account) Read(ctx context.Context, read func() error) error {
	if !a.Limited() {
		return read()
	}
	select {
	case a.user.reads <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.user.reads }()
	return read()
}
