package bucket

import (
	"time"

	"github.com/stoadb/stoa/kv"
)

const (
	// maintainJob is the job of a bucket whose rules have changed: it goes through the keys,
	// some at a time, in the order of their bytes. Its payload is whether the time to live is
	// another, u8, and the last key that it has seen.
	maintainJob = "rules"
	// maintainKeys is how many it looks at in one batch, for which other writes wait.
	maintainKeys = 128
)

// maintain has some keys be as the rules of their bucket say, and comes again for the others.
func maintain(tx *kv.Tx, j kv.Job) error {
	if j.Name != maintainJob {
		return nil
	}
	last, more, err := maintainSome(tx, &j)
	if err != nil || !more {
		return err
	}
	return tx.Schedule(maintainJob, tx.Now().Add(time.Millisecond), append(payload(rearms(&j)), last...))
}

// maintainSome is one step of maintain. It returns the last key that it has seen, and whether there
// are more.
func maintainSome(tx *kv.Tx, j *kv.Job) (last []byte, more bool, err error) {
	last = j.Payload[min(1, len(j.Payload)):]
	from := last
	if len(from) > 0 {
		from = append(from[:len(from):len(from)], 0)
	}
	found, more, err := tx.ByTerm(indexKeys, from, nil, maintainKeys)
	if err != nil {
		return nil, false, err
	}
	rules := tx.Rules()
	for _, f := range found {
		r, err := tx.Get(f.Key)
		if err == nil {
			err = tx.Trim(f.Key, rules.History)
		}
		if err == nil && rearms(j) {
			err = tx.Rearm(f.Key, r.Form, expiry(&r, rules.TTL))
		}
		if err != nil {
			return nil, false, err
		}
		last = f.Key // where all that was looked at has expired, the sweep removes it first
	}
	return last, more, nil
}

// setRules has a bucket keep what other rules say, and schedules what its values are to lose. What
// a smaller history is taking away does not come back: a larger one is refused until it has gone.
func setRules(tx *kv.Tx, rules kv.Rules) error {
	was := tx.Rules()
	if rules == was {
		return nil
	}
	j, due, err := tx.Scheduled(maintainJob)
	if err == nil && due && rules.History > was.History {
		var more bool
		if _, more, err = maintainSome(tx, &j); more {
			err = refuse(CodeConflict, "history", "older revisions are being removed still, since the bucket keeps %d of each key: try again soon", was.History)
		} else if err == nil {
			_, err = tx.Cancel(maintainJob)
			due = false
		}
	}
	if err == nil {
		err = tx.SetRules(rules)
	}
	if was.Mark = rules.Mark; err != nil || rules == was {
		return err
	}
	return tx.Schedule(maintainJob, tx.Now(), payload(rules.TTL != was.TTL || due && rearms(&j)))
}

// payload is that of the job before it has seen a key.
func payload(rearms bool) []byte {
	if rearms {
		return []byte{1}
	}
	return []byte{0}
}

// rearms reports whether the job is about the time to live, too.
func rearms(j *kv.Job) bool { return len(j.Payload) == 0 || j.Payload[0] != 0 }

// expiry is when a record expires by the time to live of its bucket; 0: it has none. It counts from
// when the value was written, whatever has touched it.
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
