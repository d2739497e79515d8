package lock

import (
	"time"

	"github.com/stoadb/stoa/engine"
)

// Mode is how a lock is held. The zero Mode of a request is Exclusive.
type Mode uint8

const (
	// Free is the mode of a lock that nobody holds.
	Free Mode = iota
	// Exclusive has one holder.
	Exclusive
	// Shared has up to MaxHolders.
	Shared
)

// String is the mode as clients spell it.
func (m Mode) String() string {
	switch m {
	case Exclusive:
		return "exclusive"
	case Shared:
		return "shared"
	}
	return "free"
}

// Request is what [Store.Acquire] is asked for.
type Request struct {
	Name    string // of the lock: task:ID or resource:TYPE:ID
	Agent   string // for whom
	Mode    Mode   // zero: Exclusive
	TTL     time.Duration
	Purpose string // for people; at most MaxPurpose bytes

	Wait    bool          // in the queue, if the lock can't be had at once
	MaxWait time.Duration // how long; 0: PlainWait
	// Claim is how long the lock is held for a request that has waited before it is renewed,
	// if that is less than TTL: so a lock that is given to who does not hear of it any more
	// goes on to the next. 0: TTL.
	Claim    time.Duration
	Priority int // 0 to TopPriority: who has more is before who has less; of the same the first that came
	// Moved is called with the request's place in the queue, from 1, when it is there and
	// whenever the place changes, by the goroutine of the call; nil: nobody asks.
	Moved func(place int)
	// PlaceOnce has Moved called once, when the request begins to wait. Who does not need to
	// know where it stands costs less: a lock that goes on moves all who wait for it.
	PlaceOnce bool

	Durability engine.Durability
}

// Grant is that an agent holds a lock.
type Grant struct {
	Name       string
	Agent      string
	Mode       Mode
	Token      uint64    // greater than that of every earlier grant of the tenant
	Acquired   time.Time // an upgrade and a downgrade leave it
	Expires    time.Time // from then on it is not held, unless it is renewed
	Until      time.Time // the last moment that it can be renewed up to
	Heartbeats uint32    // how often it was renewed
	Purpose    string
}

// Lock is what is known of a lock.
type Lock struct {
	Name     string
	Mode     Mode
	Holders  []Grant // in order of their tokens
	Waiting  int     // how many wait for it
	Revision uint64  // of its last change; 0: nobody holds it
}

// Config is how long locks are held. The zero Config is the defaults.
type Config struct {
	DefaultTTL time.Duration // of a request that says none; 0: 30 s
	MaxTTL     time.Duration // from a grant on, renewals included; 0: 1 h
	// Heartbeat is how often an agent that is registered is to be heard of: after three
	// times that without a word its locks are released. 0: 10 s.
	Heartbeat time.Duration
	// AcquireLimit is how many locks an agent may ask for within any minute, granted or not; 0: as many as
	// it wants.
	AcquireLimit int
	// IgnoreDeadlocks has requests wait that would wait for themselves.
	IgnoreDeadlocks bool
}

// filled is c with the defaults for what is 0, within what is possible.
func (c Config) filled() Config {
	for _, f := range []struct {
		of    *time.Duration
		plain time.Duration
	}{{&c.MaxTTL, time.Hour}, {&c.DefaultTTL, 30 * time.Second}, {&c.Heartbeat, 10 * time.Second}} {
		if *f.of == 0 {
			*f.of = f.plain
		}
		*f.of = min(max(*f.of, MinTTL), MaxTTL)
	}
	c.DefaultTTL = min(c.DefaultTTL, c.MaxTTL)
	return c
}

// check returns what is wrong with a request, whose mode and time to live it completes.
func (r *Request) check(c *Config) error {
	if _, _, err := ParseName(r.Name); err != nil {
		return err
	}
	if err := checkAgent(r.Agent); err != nil {
		return err
	}
	if r.Mode == Free {
		r.Mode = Exclusive
	}
	switch {
	case r.Mode > Shared:
		return invalid("mode", "there is no such mode: exclusive or shared")
	case r.Mode == Shared && exclusiveOnly(r.Name):
		return invalid("mode", "the lock of a task is exclusive: only resources are shared")
	case r.Priority < 0 || r.Priority > TopPriority:
		return invalid("priority", "a priority is 0 to %d", TopPriority)
	case !r.Wait && r.MaxWait != 0 || r.MaxWait < 0 || r.MaxWait > MaxWait:
		return invalid("max_wait", "who waits says how long, up to %s; 0 is %s", MaxWait, PlainWait)
	case r.Claim < 0:
		return invalid("claim", "a lock is claimed within a time")
	case !r.Durability.Valid():
		return invalid("durability", "there is no such durability")
	}
	if err := checkPurpose(r.Purpose); err != nil {
		return err
	}
	return checkTTL(&r.TTL, c)
}

func checkPurpose(purpose string) error {
	if len(purpose) > MaxPurpose {
		e := invalid("purpose", "the purpose has %d bytes, at most %d", len(purpose), MaxPurpose)
		e.Limit, e.Have = MaxPurpose, uint64(len(purpose))
		return e
	}
	return checkText("purpose", purpose)
}

func checkTTL(ttl *time.Duration, c *Config) error {
	if *ttl == 0 {
		*ttl = c.DefaultTTL
	}
	if *ttl < MinTTL {
		return invalid("ttl", "a lock is held for at least %s", MinTTL)
	}
	if *ttl > c.MaxTTL {
		e := refuse(CodeMaxTTL, "ttl", "a lock is held for at most %s, renewals included, and this asks for %s", c.MaxTTL, *ttl)
		e.Limit, e.Have = uint64(c.MaxTTL.Milliseconds()), uint64(ttl.Milliseconds())
		return e
	}
	return nil
}
