package bucket

import (
	"time"

	"github.com/stoadb/stoa/kv"
)

const (
	// maintainJob is the job of a bucket whose rules have changed: it goes through the keys,
	// some at a time, in the order of their bytes. Its payload is the last one that it has seen.
	maintainJob = "rules"
	// maintainKeys is how many it looks at in one batch, for which other writes wait.
	maintainKeys = 128
)

// maintain has some keys be as the rules of their bucket say, and comes again for the others.
func maintain(tx *kv.Tx, j kv.Job) error {
	if j.Name != maintainJob {
		return nil
	}
	from := j.Payload
	if len(from) > 0 {
		from = append(from[:len(from):len(from)], 0)
	}
	found, more, err := tx.ByTerm(indexKeys, from, nil, maintainKeys)
	if err != nil {
		return err
	}
	rules := tx.Rules()
	for _, f := range found {
		r, err := tx.Get(f.Key)
		if err != nil {
			return err
		}
		if err := tx.Trim(f.Key, rules.History); err != nil {
			return err
		}
		if err := tx.Rearm(f.Key, r.Form, expiry(&r, rules.TTL)); err != nil {
			return err
		}
	}
	if !more {
		return nil
	}
	last := j.Payload // where all that was looked at has expired, the sweep removes it first
	if n := len(found); n > 0 {
		last = found[n-1].Key
	}
	return tx.Schedule(maintainJob, tx.Now().Add(time.Millisecond), last)
}

// expiry is when a record expires by the time to live of its bucket; 0: it has none.
func expiry(r *kv.Record, ttl time.Duration) time.Time {
	own := r.Form&formOwnTTL != 0
	switch {
	case ttl == 0 && own:
		return r.Expires
	case ttl == 0:
		return time.Time{}
	}
	by := r.Written.Add(ttl)
	if own && r.Expires.Before(by) {
		return r.Expires
	}
	return by
}
