//go:build cgo

package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/rpc"
)

// sessionWorkloads measure the Session service.
var sessionWorkloads = []kvWorkload{
	{"session-expire", "a tenth as many sessions as there are rows, ten of each user, whose time ends in one second", "session", (*kvRun).expireSessions},
}

// How sessions come to end in one second.
const (
	sessionTenant = "sessions"
	sessionBatch  = 5000                   // of one call
	sessionMaking = 500 * time.Microsecond // for each, until the second begins
)

// expireSessions waits until the rows of many sessions are gone, and gets one that stays
// meanwhile.
func (r *kvRun) expireSessions(result Result) (Result, error) {
	n := r.data.Rows
	err := r.daemon.with(func(c *rpc.Client) error {
		ctx := context.Background()
		s := c.Sessions(sessionTenant)
		stays, err := s.Create(ctx, map[string]string{"session_id": "stays", "user_id": "ann"}, engine.WAL)
		if err != nil {
			return err
		}
		second := time.Now().Add(2*time.Second + time.Duration(n)*sessionMaking).Truncate(time.Millisecond)
		if err := makeSessions(s, n, stays.Written, second); err != nil {
			return err
		}
		if !time.Now().Before(second) {
			return errors.New("the first sessions end before the last are made: the machine is too slow for so many")
		}
		count, err := sessionRows(c)
		if err != nil {
			return err
		}
		time.Sleep(time.Until(second))
		last := second.Add(time.Second)
		t := turn{Units: n}
		for left := uint64(0); left != 1; {
			if time.Since(last) > time.Minute {
				return errors.New("sessions stay after their time")
			}
			begun := time.Now()
			if _, err := s.Get(ctx, "stays"); err != nil {
				return errors.Join(errors.New("a session that stays is not there"), err)
			}
			t.latencies = append(t.latencies, time.Since(begun))
			if left, err = count(); err != nil {
				return err
			}
		}
		t.Wall = max(time.Since(last), 0)
		t.WallNanos = float64(t.Wall) / float64(n)
		m := Measure{Subject: "session", turns: []turn{t}}
		m.sum()
		result.Measures = []Measure{m}
		result.figure(fmt.Sprintf("until the rows of %d sessions were gone, after the last was due", n), t.Wall.Seconds(), "s", "at most 2 s")
		result.figure("a get meanwhile, p99", m.P99/1e6, "ms", "under 20 ms")
		return nil
	})
	return result, err
}

// makeSessions makes sessions that end one after the other within a second.
func makeSessions(s *rpc.Sessions, n int, created, second time.Time) error {
	for first := 0; first < n; first += sessionBatch {
		var docs []json.RawMessage
		for i := first; i < min(first+sessionBatch, n); i++ {
			ends := second.Add(time.Second * time.Duration(i) / time.Duration(n))
			docs = append(docs, fmt.Appendf(nil, `{"session_id":"bench-%d","user_id":"user-%d","user_name":"Somebody","roles":["admin"],"permissions":["tasks:create"],"ip_address":"192.0.2.7","user_agent":"stoa bench","created_at":%q,"expires_at":%q}`,
				i, i/10, created.UTC().Format(time.RFC3339Nano), ends.UTC().Format(time.RFC3339Nano)))
		}
		done, err := s.Import(context.Background(), docs, engine.WAL)
		if err != nil {
			return err
		}
		if done.Made != len(docs) {
			return fmt.Errorf("of %d sessions %d were made", len(docs), done.Made)
		}
	}
	return nil
}

// sessionRows returns what counts the sessions that there are rows of: those too whose time
// is over, which no call shows.
func sessionRows(c *rpc.Client) (count func() (uint64, error), err error) {
	store := c.Store(context.Background())
	number := func(row kv.Row) (uint64, error) {
		value, err := store.Get(nil, column.Generic, row.AppendKey(nil))
		if err == nil && len(value) < 8 {
			err = errors.New("a row of the registry is too short")
		}
		if err != nil {
			return 0, err
		}
		return binary.LittleEndian.Uint64(value), nil
	}
	space, err := number(kv.Row{Shape: kv.ShapeSpace, Kind: byte(kv.SystemRecord), Key: []byte(session.Sessions)})
	if err != nil {
		return nil, err
	}
	tenant, err := number(kv.Row{Shape: kv.ShapeTenant, Key: []byte(sessionTenant)})
	if err != nil {
		return nil, err
	}
	row := kv.Row{Scope: keys.NewKVScope(uint8(kv.SystemRecord), uint32(space), tenant), Shape: kv.ShapeMeta}
	return func() (uint64, error) {
		value, err := store.Get(nil, column.Generic, row.AppendKey(nil))
		if err != nil {
			return 0, err
		}
		stats, err := kv.StatsOf(row, value)
		return stats.Keys, err
	}, nil
}
