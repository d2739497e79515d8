//go:build cgo

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc"
)

// eventWorkloads measure streams of events. What is added is not synced.
var eventWorkloads = []kvWorkload{
	{"event-append", "100 events added to a stream at once, beside as many entries of a stream of kv in process, and XADDs", "event", (*kvRun).eventAppends},
	{"event-group", "100 events added at once, read by a consumer of a group and acknowledged, beside XADD, XREADGROUP and XACK", "event", (*kvRun).eventGroups},
}

const (
	eventBatch  = 100
	eventTenant = "events"
	eventStream = "task"
	eventGroup  = "bench"
)

// eventPayload is what events say.
func eventPayload(random *rand.Rand) []byte {
	return fmt.Appendf(nil, `{"task":"task-%d","from":"draft","to":"pending_review","by":"agent-%d","reason":"it is ready to be looked at"}`, random.IntN(1e6), random.IntN(100))
}

// events are 100 of them.
func events(random *rand.Rand) []event.Event {
	list := make([]event.Event, eventBatch)
	for i := range list {
		list[i] = event.Event{Name: "task:state_changed", Source: "bench", Payload: eventPayload(random)}
	}
	return list
}

// one is a crew of one goroutine that does a hundred units at once.
func (r *kvRun) one(name string, do func(random *rand.Rand) error) *crew {
	random := rand.New(rand.NewPCG(1, 21))
	c := &crew{name: name, release: func() {}}
	c.hands = append(c.hands, func() (int, error) { return eventBatch, do(random) })
	return c
}

// published are events over the socket.
func (r *kvRun) published(name string, c *rpc.Client, then func(e *rpc.Events) error) *crew {
	e := c.Events(eventTenant)
	crew := r.one(name, func(random *rand.Rand) error {
		if _, err := e.Publish(context.Background(), engine.WAL, eventStream, events(random)); err != nil {
			return err
		}
		return then(e)
	})
	crew.elsewhere = r.daemon.process.cpu
	crew.settle = func() error { return r.daemon.with(flush) }
	return crew
}

// streamed are entries of a stream of kv in this process, as many bytes and kept as long as
// those of events.
func (r *kvRun) streamed() (*crew, error) {
	db, err := rocks.Open(r.options.path("streams"), rocks.Options{})
	if err != nil {
		return nil, err
	}
	crew, err := r.streamedIn(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return crew, nil
}

func (r *kvRun) streamedIn(db *rocks.Engine) (*crew, error) {
	store, err := kv.Open(db, kv.Options{Types: []kv.Type{event.Type()}})
	if err != nil {
		return nil, err
	}
	space, err := store.CreateSpace(context.Background(), eventTenant, kv.SystemEvent, event.Type().Space, kv.Quota{})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	crew := r.one("stream", func(random *rand.Rand) error {
		payloads := make([][]byte, eventBatch)
		for i := range payloads {
			payloads[i] = fmt.Appendf(nil, "task:state_changed|bench|%s", eventPayload(random))
		}
		return space.Update(context.Background(), engine.WAL, func(tx *kv.Tx) error {
			_, err := tx.AppendAll(eventStream, kv.StreamLimits{Entries: event.Kept, Age: event.KeptFor}, payloads...)
			return err
		})
	})
	crew.settle = db.Flush
	crew.release = func() { _ = errors.Join(store.Close(), db.Close()) }
	return crew, nil
}

// added are entries of a stream of Redis, a hundred commands in one pipeline. Its append-only
// file is not synced, and so as durable as what the daemon writes.
func (r *kvRun) added(name string, then func(db *redis.Client) error) (*crew, error) {
	s, err := StartRedis(r.options, "--appendonly", "yes", "--appendfsync", "no")
	if s == nil || err != nil {
		return nil, err
	}
	db := s.Dial()
	crew := r.one(name, func(random *rand.Rand) error {
		_, err := db.Pipelined(ctx, func(p redis.Pipeliner) error {
			for range eventBatch {
				p.XAdd(ctx, &redis.XAddArgs{Stream: eventStream, MaxLen: event.Kept,
					Values: []string{"event", "task:state_changed", "source", "bench", "payload", string(eventPayload(random))}})
			}
			return nil
		})
		if err != nil {
			return err
		}
		return then(db)
	})
	crew.elsewhere = s.CPU
	crew.release = func() { _ = errors.Join(db.Close(), s.Stop()) }
	if err := db.XGroupCreateMkStream(ctx, eventStream, eventGroup, "0").Err(); err != nil {
		crew.release()
		return nil, err
	}
	return crew, nil
}

func (r *kvRun) eventAppends(result Result) (Result, error) {
	err := r.daemon.with(func(c *rpc.Client) error {
		stream, err := r.streamed()
		if err != nil {
			return err
		}
		result, err = r.events(result, []*crew{stream, r.published("event", c, func(*rpc.Events) error { return nil })}, func(*redis.Client) error { return nil })
		if err == nil {
			result.rate("event", "stream", "at least 0.8")
		}
		return err
	})
	return result, err
}

// events lets crews take turns with Redis, and notes how it compares.
func (r *kvRun) events(result Result, crews []*crew, then func(db *redis.Client) error) (Result, error) {
	beside, err := r.added("redis", then)
	if err != nil {
		releaseAll(crews)
		return result, err
	}
	if beside != nil {
		crews = append(crews, beside)
	}
	if result, err = takeTurns(r.options, result, crews); err == nil && beside != nil {
		result.rate("event", "redis", "")
	}
	return result, err
}

// errLost is returned where a consumer of a group is not given what was added.
var errLost = errors.New("an event that was added was not read, or was not acknowledged")

func (r *kvRun) eventGroups(result Result) (Result, error) {
	who := event.Consumer{Stream: eventStream, Group: eventGroup, Name: "one"}
	err := r.daemon.with(func(c *rpc.Client) error {
		if _, err := c.Events(eventTenant).CreateGroup(context.Background(), engine.WAL, eventStream, eventGroup, event.Place{Now: true}); err != nil {
			return err
		}
		published := r.published("event", c, func(e *rpc.Events) error {
			list, err := e.ReadGroup(context.Background(), engine.WAL, who, eventBatch, 0)
			if err != nil {
				return err
			}
			ids := make([]event.ID, len(list))
			for i := range list {
				ids[i] = list[i].ID
			}
			return all(e.Acknowledge(context.Background(), engine.WAL, eventStream, eventGroup, ids))
		})
		var err error
		result, err = r.events(result, []*crew{published}, func(db *redis.Client) error {
			streams, err := db.XReadGroup(ctx, &redis.XReadGroupArgs{Group: eventGroup, Consumer: who.Name, Streams: []string{eventStream, ">"}, Count: eventBatch, Block: -1}).Result()
			if err != nil {
				return err
			}
			var ids []string
			for _, m := range streams[0].Messages {
				ids = append(ids, m.ID)
			}
			n, err := db.XAck(ctx, eventStream, eventGroup, ids...).Result()
			return all(int(n), err)
		})
		return err
	})
	return result, err
}

// all refuses fewer than a batch of events.
func all(n int, err error) error {
	if err == nil && n != eventBatch {
		err = fmt.Errorf("%w: %d of %d", errLost, n, eventBatch)
	}
	return err
}
