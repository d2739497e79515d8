package job

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// stored is the record of a job. Times are ms since 1970.
type stored struct {
	state            State
	queue            uint8  // its place in QueueNames, from 1
	arrived          uint64 // the revision at which it came to its queue; 0: it has not yet
	due, made, until uint64 // until of one that is dead: when it died
	token            uint64 // of the last lease
	attempts, most   uint32
	worker, failure  string
	payload          json.RawMessage
}

// version is the first byte of a record, of which README.md has the others.
const version = 1

// numberBytes is the length of the numbers of a record.
const numberBytes = 3 + 5*8 + 2*4

func (s *stored) append(dst []byte) []byte {
	dst = append(dst, version, byte(s.state), s.queue)
	for _, n := range [...]uint64{s.arrived, s.due, s.made, s.until, s.token} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	dst = binary.LittleEndian.AppendUint32(dst, s.attempts)
	dst = binary.LittleEndian.AppendUint32(dst, s.most)
	for _, text := range [...]string{s.worker, s.failure} {
		dst = append(binary.LittleEndian.AppendUint16(dst, uint16(len(text))), text...)
	}
	return append(dst, s.payload...)
}

// parse returns what a record says, whose payload is a part of src, or engine.ErrCorrupt.
func parse(id string, src []byte) (s stored, err error) {
	if len(src) < numberBytes || src[0] != version {
		return s, damaged(id, "cut short, or not of version 1")
	}
	s.state, s.queue = State(src[1]), src[2]
	src = src[3:]
	for _, n := range []*uint64{&s.arrived, &s.due, &s.made, &s.until, &s.token} {
		*n, src = binary.LittleEndian.Uint64(src), src[8:]
	}
	s.attempts, s.most, src = binary.LittleEndian.Uint32(src), binary.LittleEndian.Uint32(src[4:]), src[8:]
	for _, text := range []*string{&s.worker, &s.failure} {
		if len(src) < 2 || len(src)-2 < int(binary.LittleEndian.Uint16(src)) {
			return s, damaged(id, "cut short")
		}
		n := 2 + int(binary.LittleEndian.Uint16(src))
		*text, src = string(src[2:n]), src[n:]
	}
	s.payload = src
	return s, s.check(id)
}

// check returns engine.ErrCorrupt for what no job is.
func (s *stored) check(id string) error {
	switch {
	case s.state < Scheduled || s.state > Dead || s.queue == 0 || int(s.queue) > len(QueueNames()):
		return damaged(id, "an unknown state or queue")
	case max(s.due, s.made, s.until) > maxMoment || s.due == 0 || s.made == 0:
		return damaged(id, "a time that is none")
	case s.most == 0 || s.most > MaxAttempts || s.attempts > s.most || s.attempts == s.most && (s.state == Ready || s.state == Scheduled):
		return damaged(id, "more attempts than it may have")
	case s.state == Leased && (s.token == 0 || s.until == 0 || s.attempts == 0) || s.state == Dead && s.until == 0:
		return damaged(id, "a lease without its token, or without an end")
	case (s.state == Ready || s.state == Leased) && s.arrived == 0:
		return damaged(id, "in its queue without a place")
	}
	if canonical, err := document.Canonical(s.payload); err != nil || document.Kind(canonical) != '{' {
		return damaged(id, "a payload that is no JSON object")
	}
	return nil
}

func damaged(id, reason string) error {
	return fmt.Errorf("job: %w: the record of %q: %s", engine.ErrCorrupt, id, reason)
}

// maxMoment is the last moment that there is, in ms since 1970.
const maxMoment = uint64(1<<63-1) / uint64(time.Millisecond)

// info is the job of a record.
func (s *stored) info(id string) Info {
	i := Info{Job: Job{ID: id, Queue: QueueNames()[s.queue-1], Due: moment(s.due), Payload: slices.Clone(s.payload), MaxAttempts: int(s.most)},
		State: s.state, Made: moment(s.made), Attempts: int(s.attempts), Worker: s.worker, Token: s.token, Failure: s.failure}
	if s.state == Leased || s.state == Dead {
		i.Until = moment(s.until)
	}
	return i
}

// LastDue is the last moment that a job can be due at, in the year 2262.
func LastDue() time.Time { return moment(maxMoment) }

func moment(ms uint64) time.Time { return time.UnixMilli(int64(ms)).UTC() }

// millis is a moment in ms, rounded up, within those that there are.
func millis(t time.Time) uint64 {
	return min(uint64(max(t.Add(time.Millisecond-1).UnixMilli(), 1)), maxMoment)
}

// place is what jobs of a queue in a state are ordered by.
func (s *stored) place() uint64 {
	switch s.state {
	case Scheduled:
		return s.due
	case Ready:
		return s.arrived
	}
	return s.until
}

// indexPlace has a job under its queue, its state and its place there.
const indexPlace uint16 = 1

// places returns the terms of a job's record in indexPlace.
func places(_, value []byte) [][]byte {
	s, err := parse("", value)
	if err != nil {
		return nil
	}
	return [][]byte{term(s.queue, s.state, s.place())}
}

func term(queue uint8, state State, place uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{queue, byte(state)}, place)
}

// termsOf are the terms of the jobs of a queue in a state: from a place up to, but without,
// the other term.
func termsOf(queue uint8, state State, place uint64) (from, to []byte) {
	return term(queue, state, place), []byte{queue, byte(state) + 1}
}

// queueNumber is the place of a queue's name in the list, from 1.
func queueNumber(queue string) uint8 { return uint8(slices.Index(QueueNames(), queue) + 1) }

// Fault is what is wrong with a record of the space of jobs, looked at by itself; "": nothing.
func Fault(r *kv.Record) string {
	if err := checkID(string(r.Key)); err != nil {
		return err.Error()
	}
	s, err := parse(string(r.Key), r.Value)
	switch {
	case err != nil:
		return err.Error()
	case s.state == Dead && r.Expires.IsZero():
		return "a dead job that is kept for ever"
	case s.state != Dead && !r.Expires.IsZero():
		return "a job that is not dead, and expires"
	case max(s.token, s.arrived) > r.Revision:
		return fmt.Sprintf("a token or a place in its queue of %d in revision %d", max(s.token, s.arrived), r.Revision)
	}
	return ""
}
