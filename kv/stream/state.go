package stream

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"github.com/stoadb/stoa/kv"
)

// state is what changes of a consumer as it reads, beside its group and what is pending in
// it, which package kv keeps.
type state struct {
	deliveries uint64 // how many there were
	dead       uint64 // dead letters that are there
	before     uint64 // the last token that was given when it was made, by any that are deleted
}

// token is that of the last delivery.
func (s state) token() uint64 { return s.before + s.deliveries }

func (s state) bytes() []byte {
	dst := binary.LittleEndian.AppendUint64([]byte{version}, s.deliveries)
	dst = binary.LittleEndian.AppendUint64(dst, s.dead)
	if s.before != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, s.before)
	}
	return dst
}

func parseState(src []byte) (s state, err error) {
	if len(src) == 25 {
		s.before = binary.LittleEndian.Uint64(src[17:])
	}
	if s.before == 0 && len(src) != 17 || src[0] != version {
		return s, damaged("not the state of a consumer of version %d", version)
	}
	s.deliveries, s.dead = binary.LittleEndian.Uint64(src[1:]), binary.LittleEndian.Uint64(src[9:])
	return s, nil
}

// tokensKept is under which name the streams keep the greatest token of a consumer that is
// deleted. One that is made begins behind it, so that no delivery is taken for one of another that
// had its name.
const tokensKept = "tokens"

// lastToken returns the greatest token of a consumer that is deleted.
func lastToken(tx *kv.Tx) (uint64, error) {
	kept, err := tx.Kept(tokensKept)
	if err != nil || kept == nil {
		return 0, err
	}
	return parseToken(kept)
}

func tokenBytes(token uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{version}, token)
}

func parseToken(src []byte) (uint64, error) {
	if len(src) != 9 || src[0] != version {
		return 0, damaged("not the last token of version %d", version)
	}
	return binary.LittleEndian.Uint64(src[1:]), nil
}

// free is who has an entry that waits to be delivered again; see [holding].
const free = "free"

// holding is who has an entry that is delivered and not acknowledged, and since when. In package
// kv its token, as text, is the consumer, or free.
type holding struct {
	number     uint64
	token      uint64    // of its delivery; 0: nobody has it
	since      time.Time // when it was delivered or last said to be in progress; of what nobody has, from when on it is delivered again
	deliveries uint32    // that there were
}

func holdingOf(p kv.Pending) (h holding, err error) {
	h = holding{number: p.Number, since: p.Since, deliveries: p.Deliveries}
	if p.Consumer == free {
		return h, nil
	}
	h.token, err = strconv.ParseUint(p.Consumer, 10, 64)
	if err != nil || strconv.FormatUint(h.token, 10) != p.Consumer || h.token == 0 || h.deliveries == 0 {
		return h, damaged("entry %d is with nobody who can have it", p.Number)
	}
	return h, nil
}

func (h *holding) pending() kv.Pending {
	p := kv.Pending{Number: h.number, Consumer: free, Since: h.since, Deliveries: h.deliveries}
	if h.token != 0 {
		p.Consumer = strconv.FormatUint(h.token, 10)
	}
	return p
}

// due is when it is delivered again.
func (h *holding) due(ackWait time.Duration) time.Time {
	if h.token == 0 {
		return h.since
	}
	return h.since.Add(ackWait)
}

// work is a consumer within a transaction of its streams.
type work struct {
	of      *Consumer
	tx      *kv.Tx
	config  Config
	created uint64
	state   state
}

// in returns the consumer within a transaction, or ErrNotFound.
func (c *Consumer) in(tx *kv.Tx) (*work, error) {
	r, err := tx.Get([]byte(c.key))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, noConsumer(c.stream, c.name)
	}
	if err != nil {
		return nil, err
	}
	w := &work{of: c, tx: tx}
	if w.config, w.created, err = parseConfig(c.name, r.Value); err != nil {
		return nil, err
	}
	kept, err := tx.Kept(c.key)
	if err == nil {
		w.state, err = parseState(kept)
	}
	return w, err
}

// save keeps the state.
func (w *work) save() error { return w.tx.Keep(w.of.key, w.state.bytes()) }

// held returns an entry that a delivery still has, or ErrFenced.
func (w *work) held(r Ref) (holding, error) {
	p, err := w.tx.Pending(w.of.stream, w.of.name, r.Number)
	if errors.Is(err, kv.ErrNotFound) {
		return holding{}, fenced()
	}
	if err != nil {
		return holding{}, err
	}
	h, err := holdingOf(p)
	if err == nil && (h.token == 0 || h.token != r.Token) {
		err = fenced()
	}
	return h, err
}

// hold has entries be with whom holdings say.
func (w *work) hold(list ...holding) error {
	pending := make([]kv.Pending, len(list))
	for i := range list {
		pending[i] = list[i].pending()
	}
	return w.tx.SetPending(w.of.stream, w.of.name, pending...)
}

// done ends that an entry is pending, and has those look who wait for that.
func (w *work) done(n uint64) error {
	w.tx.Wake()
	_, err := w.tx.Acknowledge(w.of.stream, w.of.name, n)
	return err
}
