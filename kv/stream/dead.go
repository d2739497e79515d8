package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Why an entry is a dead letter of which no caller has said why.
const (
	reasonUnacked = "nobody acknowledged its last delivery in time"
	reasonTrimmed = "the stream no longer kept it when it was due to be delivered again"
)

// DeadLetter is an entry that a consumer does not deliver any more, since nobody could handle
// it. It is kept until it is replayed or dropped, also where the stream no longer keeps the entry.
type DeadLetter struct {
	Entry           // of which only the number is known if Lost
	Lost       bool // the stream did not keep the entry any more when it died
	Died       time.Time
	Deliveries int
	Reason     string
}

func (l *DeadLetter) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(append(dst, version), uint64(l.Died.UnixMilli()))
	dst = appendText(binary.LittleEndian.AppendUint32(dst, uint32(l.Deliveries)), l.Reason)
	if l.Lost {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(l.Time.UnixMilli()))
	return l.Message.append(dst)
}

// parseDead returns the dead letter of some bytes, of which its payload is a part, or
// engine.ErrCorrupt.
func parseDead(n uint64, src []byte) (l DeadLetter, err error) {
	if len(src) < 13 || src[0] != version {
		return l, damaged("dead letter %d: cut short, or not of version %d", n, version)
	}
	died := binary.LittleEndian.Uint64(src[1:])
	l = DeadLetter{Entry: Entry{Number: n}, Died: moment(died), Deliveries: int(binary.LittleEndian.Uint32(src[9:]))}
	rest, ok := src[13:], false
	if l.Reason, rest, ok = cutText(rest); !ok || checkReason(l.Reason) != nil || died == 0 || died > maxMs {
		return l, damaged("dead letter %d: what it says is none", n)
	}
	if l.Lost = len(rest) == 0; l.Lost {
		return l, nil
	}
	if len(rest) < 8 || binary.LittleEndian.Uint64(rest) == 0 || binary.LittleEndian.Uint64(rest) > maxMs {
		return l, damaged("dead letter %d: an entry of no time", n)
	}
	l.Time = moment(binary.LittleEndian.Uint64(rest))
	l.Message, err = parseMessage(rest[8:])
	return l, err
}

// bury has an entry be a dead letter. The state is the caller's to save. It returns ErrTooMany
// where the consumer has as many as it may.
func (w *work) bury(h holding, reason string) error {
	l := DeadLetter{Entry: Entry{Number: h.number}, Died: w.tx.Now(), Deliveries: int(h.deliveries), Reason: reason}
	e, err := w.tx.Entry(w.of.stream, h.number)
	if err == nil {
		l.Entry, err = entryOf(e)
	} else if errors.Is(err, kv.ErrTrimmed) {
		l.Lost, err = true, nil
	}
	if err != nil {
		return err
	}
	key := []byte(deadKey(w.of.stream, w.of.name, h.number))
	_, err = w.tx.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		if w.state.dead >= MaxDead {
			return beyond(CodeTooMany, "consumer", MaxDead, int(w.state.dead), "the consumer has %d dead letters, as many as it may, and there is another: replay or drop some", w.state.dead)
		}
		w.state.dead++
	} else if err != nil {
		return err
	}
	if _, err := w.tx.Put(key, l.append(nil), kv.PutOptions{}); err != nil {
		return err
	}
	return w.done(h.number)
}

// buried is bury, and saves the state.
func (w *work) buried(h holding, reason string) error {
	if err := w.bury(h, reason); err != nil {
		return err
	}
	return w.save()
}

// DeadLetters returns the dead letters of a consumer after an entry, in the order of the stream, at
// most limit of them, 0 for 100, at most MaxBatch.
func (c *Consumer) DeadLetters(ctx context.Context, after uint64, limit int) (list []DeadLetter, err error) {
	if err := checkLimit(&limit); err != nil {
		return nil, err
	}
	found := false
	err = c.streams.view(func(view *kv.View) (err error) {
		if found, err = hasRecord(view, c.key); err != nil || !found {
			return err
		}
		all := []byte(deadOf(c.stream, c.name))
		o := kv.IndexOptions{From: append([]byte(deadKey(c.stream, c.name, after)), 0), To: engine.Successor(all), Limit: limit}
		page, _, err := view.ByIndex(ctx, indexKey, o)
		for i := 0; i < len(page) && err == nil; i++ {
			var l DeadLetter
			n, _ := parseKey(string(page[i].Key))
			if l, err = parseDead(n.dead, page[i].Value); err == nil {
				list = append(list, l)
			}
		}
		return err
	})
	if err == nil && !found {
		err = noConsumer(c.stream, c.name)
	}
	return list, err
}

// RetryDead has dead letters be delivered again, at most MaxBatch of them, as often as entries that
// never were, and returns how many there were. It returns ErrTrimmed if the stream no longer keeps
// one of them: read it, and drop it.
func (c *Consumer) RetryDead(ctx context.Context, d engine.Durability, numbers ...uint64) (done int, err error) {
	return c.forget(ctx, d, numbers, func(w *work, n uint64) error {
		if _, err := w.tx.Entry(w.of.stream, n); errors.Is(err, kv.ErrTrimmed) {
			return refuse(CodeTrimmed, "numbers", "entry %d is no longer kept by the stream: read the dead letter, and drop it", n)
		} else if err != nil {
			return err
		}
		group, err := w.tx.Group(c.stream, c.name)
		if err != nil {
			return err
		}
		if group.Pending >= MaxUnacked {
			return beyond(CodeTooMany, "numbers", MaxUnacked, int(group.Pending), "%d entries are delivered and not acknowledged: acknowledge some first", group.Pending)
		}
		return w.hold(holding{number: n, since: w.tx.Now()})
	})
}

// DropDead removes dead letters for good, at most MaxBatch of them, and returns how many there
// were.
func (c *Consumer) DropDead(ctx context.Context, d engine.Durability, numbers ...uint64) (done int, err error) {
	return c.forget(ctx, d, numbers, func(*work, uint64) error { return nil })
}

// forget removes dead letters, each of which something is done with before.
func (c *Consumer) forget(ctx context.Context, d engine.Durability, numbers []uint64, with func(*work, uint64) error) (done int, err error) {
	if err := checkBatch("numbers", len(numbers)); err != nil {
		return 0, err
	}
	err = c.update(ctx, d, func(w *work) error {
		done = 0
		for _, n := range numbers {
			_, err := w.tx.Delete([]byte(deadKey(c.stream, c.name, n)))
			if errors.Is(err, kv.ErrNotFound) {
				continue
			}
			if err == nil {
				err = with(w, n)
			}
			if err != nil {
				return err
			}
			done, w.state.dead = done+1, w.state.dead-min(w.state.dead, 1)
		}
		return w.save()
	})
	if err != nil {
		return 0, err
	}
	return done, nil
}

// ReasonOf is the text of an error, as far as a reason may be long: of who says that an entry could
// not be handled.
func ReasonOf(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), MaxReason)], "")
}
