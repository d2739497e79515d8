package stream

import (
	"encoding/binary"
	"time"

	"github.com/stoadb/stoa/kv/bucket/subject"
)

// DeliverPolicy is where in a stream a consumer begins. The zero DeliverPolicy is DeliverAll.
// They are stored by their numbers.
type DeliverPolicy uint8

// Where a consumer begins.
const (
	DeliverAll  DeliverPolicy = iota // with the first entry that is kept
	DeliverNew                       // with the next that is added
	DeliverFrom                      // with the entry of a number, or the first that is kept after it; where neither is there, with the next that is added
)

// Start is where in a stream a consumer begins, or begins again. The zero Start is all.
type Start struct {
	Policy DeliverPolicy
	From   uint64 // of DeliverFrom
}

func (s Start) check() error {
	if s.Policy > DeliverFrom {
		return invalid("start", "a consumer begins with all entries, with new ones, or from a number")
	}
	if (s.From != 0) != (s.Policy == DeliverFrom) {
		return invalid("start", "a number, from 1 on, is where a consumer begins that begins from a number, and no other")
	}
	return nil
}

// Config is what a consumer is. Its zero fields are the defaults.
type Config struct {
	Name          string        // which names it among those of its stream, for good
	Start         Start         // where it begins; not changed by an update
	Filter        string        // of the subjects that it is given, as orders.*; "": all
	AckWait       time.Duration // from when on an entry that nobody has acknowledged is delivered again; 0: PlainAckWait
	MaxDeliver    int           // deliveries of an entry until it is a dead letter; 0: PlainDeliver
	MaxAckPending int           // entries that are delivered and not acknowledged; 0: PlainUnacked
}

// Check returns what is wrong with a configuration, and puts the defaults in the place of zeros.
func (c *Config) Check() error {
	if err := checkName("consumer", c.Name); err != nil {
		return err
	}
	if err := c.Start.check(); err != nil {
		return err
	}
	if _, err := filterOf(c.Filter); err != nil {
		return err
	}
	if c.AckWait == 0 {
		c.AckWait = PlainAckWait
	}
	if c.MaxDeliver == 0 {
		c.MaxDeliver = PlainDeliver
	}
	if c.MaxAckPending == 0 {
		c.MaxAckPending = PlainUnacked
	}
	switch {
	case c.AckWait < MinAckWait || c.AckWait > MaxAckWait || c.AckWait%time.Millisecond != 0:
		return invalid("ack_wait", "an acknowledgement is waited for %s to %s, in whole milliseconds, and 0 is %s", MinAckWait, MaxAckWait, PlainAckWait)
	case c.MaxDeliver < 0 || c.MaxDeliver > MaxDelivered:
		return invalid("max_deliver", "an entry is delivered 1 to %d times, and 0 is %d", MaxDelivered, PlainDeliver)
	case c.MaxAckPending < 0 || c.MaxAckPending > MaxUnacked:
		return invalid("max_ack_pending", "1 to %d entries wait for their acknowledgement, and 0 is %d", MaxUnacked, PlainUnacked)
	}
	return nil
}

// configBytes is how many bytes the numbers of a configuration take.
const configBytes = 1 + 8 + 1 + 8 + 8 + 4 + 4

// append appends the bytes of a configuration that has been checked, without its name.
func (c *Config) append(dst []byte, created uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(append(dst, version), created)
	dst = binary.LittleEndian.AppendUint64(append(dst, byte(c.Start.Policy)), c.Start.From)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(c.AckWait/time.Millisecond))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.MaxDeliver))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.MaxAckPending))
	return append(dst, c.Filter...)
}

// parseConfig returns the configuration of some bytes and when the consumer was made, in ms, or
// engine.ErrCorrupt.
func parseConfig(name string, src []byte) (c Config, created uint64, err error) {
	if len(src) < configBytes || src[0] != version {
		return c, 0, damaged("consumer %q: cut short, or not of version %d", name, version)
	}
	created = binary.LittleEndian.Uint64(src[1:])
	c = Config{
		Name:          name,
		Start:         Start{DeliverPolicy(src[9]), binary.LittleEndian.Uint64(src[10:])},
		AckWait:       time.Duration(min(binary.LittleEndian.Uint64(src[18:]), maxMs)) * time.Millisecond,
		MaxDeliver:    int(binary.LittleEndian.Uint32(src[26:])),
		MaxAckPending: int(binary.LittleEndian.Uint32(src[30:])),
		Filter:        string(src[configBytes:]),
	}
	whole := c
	if err := whole.Check(); err != nil || whole != c || created == 0 || created > maxMs {
		return c, 0, damaged("consumer %q: what it says is none", name)
	}
	return c, created, nil
}

// maxMs is the last moment that there is, in ms since 1970.
const maxMs = uint64(1<<63-1) / uint64(time.Millisecond)

// moment is a time by its ms since 1970.
func moment(ms uint64) time.Time { return time.UnixMilli(int64(ms)).UTC() }

// takes reports whether a consumer is given what has a subject.
func takes(filter *subject.Filter, of string) bool {
	return filter == nil || filter.Match([]byte(of))
}
