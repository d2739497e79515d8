package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc"
)

// flows publishes numbers in a stream, and adds them up in a bucket, each in the batch that
// acknowledges it: so the sums are always those of the entries that are acknowledged, each counted
// once.
type flows struct {
	tenant string
	rand   *rand.Rand
	// byClock says that the daemon has another clock, by which deliveries may be over at any time.
	byClock bool
	ready   bool // the stream, the consumer and the bucket are there

	entries []int               // the number that each entry has
	applied int                 // of the entries
	got     *rpc.StreamDelivery // of the next entry, if it is delivered
	stale   rpc.StreamRef       // of the entry before; zero: there was none

	publishing []int // what is under way
	fetching   bool  // it may be delivered, and nobody heard of it
	applying   bool
}

func newFlows(r *rand.Rand, id byte) worker {
	return &flows{tenant: fmt.Sprint("flows", id), rand: r}
}

func (w *flows) keepTime(*reckoning) { w.byClock = true }

const (
	flowsStream   = "numbers"
	flowsConsumer = "adder"
	flowsBucket   = "sums"
	flowsSums     = 3
)

// sumOf is the key of the sum that an entry counts in.
func sumOf(number int) string { return fmt.Sprint("sum.", number%flowsSums) }

func (w *flows) use(c *rpc.Client) error {
	s := c.Streams(w.tenant)
	switch k := w.rand.IntN(3); {
	case !w.ready:
		return w.prepare(c, s)
	case k == 0 || w.applied == len(w.entries):
		return w.publish(s)
	case w.got == nil:
		return w.fetch(s)
	default:
		return w.apply(s)
	}
}

func (w *flows) prepare(c *rpc.Client, s *rpc.Streams) error {
	_, err := c.Buckets(w.tenant).Create(context.Background(), rpc.BucketConfig{Name: flowsBucket})
	if err != nil && !errors.Is(err, bucket.ErrExists) {
		return err
	}
	if _, err = s.Create(context.Background(), engine.Synced, flowsStream, kv.StreamLimits{}); err != nil {
		return err
	}
	_, err = s.CreateConsumer(context.Background(), engine.Synced, flowsStream,
		rpc.StreamConfig{Name: flowsConsumer, AckWait: stream.MaxAckWait, MaxDeliver: stream.MaxDelivered})
	w.ready = err == nil
	return err
}

func (w *flows) publish(s *rpc.Streams) error {
	last := uint64(len(w.entries))
	var list []rpc.StreamMessage
	var numbers []int
	for range 1 + w.rand.IntN(3) {
		numbers = append(numbers, w.rand.IntN(1000))
		list = append(list, rpc.StreamMessage{Subject: sumOf(numbers[len(numbers)-1]), Payload: []byte(strconv.Itoa(numbers[len(numbers)-1]))})
	}
	if w.rand.IntN(4) == 0 {
		other := last + 1
		_, err := s.Publish(context.Background(), engine.Synced, flowsStream, rpc.StreamAppendOptions{ExpectedLast: &other}, list...)
		if err == nil {
			return wrongf("%d entries were added behind entry %d, which is not there", len(list), other)
		}
		if !errors.Is(err, stream.ErrMismatch) {
			return err
		}
	}
	w.publishing = numbers
	end, err := s.Publish(context.Background(), engine.Synced, flowsStream, rpc.StreamAppendOptions{ExpectedLast: &last}, list...)
	if errors.Is(err, stream.ErrMismatch) {
		return wrongf("%d entries were not added behind entry %d, which is the last: %s", len(list), last, err)
	}
	if err != nil {
		return err
	}
	w.entries, w.publishing = append(w.entries, numbers...), nil
	if end != uint64(len(w.entries)) {
		return wrongf("the last of %d entries was added as number %d, after %d", len(numbers), end, last)
	}
	return nil
}

// fetch is given the next entry.
func (w *flows) fetch(s *rpc.Streams) error {
	w.fetching = true
	list, err := s.Consumer(flowsStream, flowsConsumer).Fetch(context.Background(), engine.Synced, rpc.StreamFetchOptions{InOrder: true})
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return wrongf("%d entries are delivered; %d of %d are applied, and none is", len(list), w.applied, len(w.entries))
	}
	w.fetching = false
	return w.delivered(&list[0])
}

// delivered takes note of what is delivered, which is to be the next entry.
func (w *flows) delivered(d *rpc.StreamDelivery) error {
	if d != nil && (w.applied == len(w.entries) || d.Number != uint64(w.applied+1) || string(d.Payload) != strconv.Itoa(w.entries[w.applied])) {
		return wrongf("entry %d, %s, is delivered; %d of %d are applied", d.Number, d.Payload, w.applied, len(w.entries))
	}
	w.got = d
	return nil
}

// sums are what the bucket has once so many entries are applied.
func (w *flows) sums(applied int) (sums [flowsSums]int) {
	for _, n := range w.entries[:applied] {
		sums[n%flowsSums] += n
	}
	return sums
}

// apply adds the number of the entry that is delivered to its sum.
func (w *flows) apply(s *rpc.Streams) error {
	n := w.entries[w.applied]
	change := rpc.BucketChange{Op: bucket.OpPut, Key: sumOf(n), Value: []byte(strconv.Itoa(w.sums(w.applied + 1)[n%flowsSums]))}
	change.Bucket = flowsBucket
	consumer := s.Consumer(flowsStream, flowsConsumer)
	if w.stale.Token != 0 && w.rand.IntN(3) == 0 {
		wrong := change
		wrong.Value = []byte("counted twice")
		if _, err := consumer.Apply(context.Background(), engine.Synced, w.stale, []rpc.BucketChange{wrong}, false); err == nil {
			return wrongf("entry %d was applied again, by the token %d", w.stale.Number, w.stale.Token)
		} else if !errors.Is(err, stream.ErrFenced) {
			return err
		}
	}
	ref := w.got.Ref()
	w.applying = true
	next, err := consumer.Apply(context.Background(), engine.Synced, ref, []rpc.BucketChange{change}, w.rand.IntN(2) == 0)
	if errors.Is(err, stream.ErrFenced) {
		if !w.byClock {
			return wrongf("entry %d, which was delivered with the token %d, was not applied: %s", ref.Number, ref.Token, err)
		}
		w.got, w.applying = nil, false
		return nil
	}
	if err != nil {
		return err
	}
	w.applied, w.stale, w.applying = w.applied+1, ref, false
	return w.delivered(next)
}

func (w *flows) recount(c *rpc.Client) error {
	if !w.ready {
		return nil
	}
	s := c.Streams(w.tenant)
	if err := w.reread(s); err != nil {
		return err
	}
	var found [flowsSums]int
	for i := range found {
		e, err := c.Buckets(w.tenant).Bucket(flowsBucket).Get(context.Background(), sumOf(i))
		if err != nil && !errors.Is(err, bucket.ErrNotFound) {
			return err
		}
		if err == nil {
			if found[i], err = strconv.Atoi(string(e.Value)); err != nil {
				return wrongf("a sum is %q", e.Value)
			}
		}
	}
	consumer := s.Consumer(flowsStream, flowsConsumer)
	info, err := consumer.Info(context.Background())
	if err != nil {
		return err
	}
	if w.applying && info.AckFloor == uint64(w.applied+1) {
		w.applied++
		w.got, w.fetching = nil, true // the next may be delivered
	}
	if info.AckFloor != uint64(w.applied) || found != w.sums(w.applied) {
		return wrongf("the sums are %v, and %d entries are acknowledged; acknowledged was %d, whose sums are %v", found, info.AckFloor, w.applied, w.sums(w.applied))
	}
	if w.applying = false; w.fetching {
		if err := consumer.Replay(context.Background(), engine.Synced, rpc.StreamStart{Policy: stream.DeliverFrom, From: uint64(w.applied + 1)}); err != nil {
			return err
		}
		w.got, w.fetching = nil, false
	}
	return nil
}

// reread looks at the entries that were published lately, and at those that were under way.
func (w *flows) reread(s *rpc.Streams) error {
	info, err := s.Info(context.Background(), flowsStream)
	if err != nil {
		return err
	}
	if info.Last == uint64(len(w.entries)+len(w.publishing)) {
		w.entries = append(w.entries, w.publishing...)
	}
	w.publishing = nil
	if info.Last != uint64(len(w.entries)) || info.Entries != info.Last {
		return wrongf("the stream has %d of %d entries; acknowledged were %d", info.Entries, info.Last, len(w.entries))
	}
	from := max(len(w.entries)-100, 0)
	list, _, err := s.Range(context.Background(), flowsStream, rpc.StreamRangeOptions{From: uint64(from + 1), Limit: stream.MaxBatch})
	if err != nil {
		return err
	}
	if len(list) != len(w.entries)-from {
		return wrongf("%d entries are there behind the first %d, of %d", len(list), from, len(w.entries))
	}
	for i, e := range list {
		if n := w.entries[from+i]; e.Number != uint64(from+i+1) || e.Subject != sumOf(n) || string(e.Payload) != strconv.Itoa(n) {
			return wrongf("entry %d is %s, %s", e.Number, e.Subject, e.Payload)
		}
	}
	return nil
}
