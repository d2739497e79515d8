package kv

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
)

// Job is something that is to be done at a time.
type Job struct {
	Name    string
	Payload []byte
	Due     time.Time

	due uint64 // ms
}

// The value of a job row is due u64 ms ‖ payload.

func parseJob(row, src []byte) (j Job, err error) {
	if len(src) < 8 || !isTime(src) {
		return j, damaged(row, "a job that is cut short, or due at no time")
	}
	j.due, j.Payload = binary.LittleEndian.Uint64(src), src[8:]
	j.Due = timeOf(j.due)
	return j, nil
}

// Schedule makes the type's Job be called with this one at a time, or as soon
// after it as the process runs: once, in the batch that removes it. A job of the
// same name is replaced. A time that is later than there is (the year 2262) is the last
// that there is.
func (tx *Tx) Schedule(name string, at time.Time, payload []byte) error {
	if err := checkName("job", name); err != nil {
		return err
	}
	if len(payload) > MaxValue {
		return &Error{Code: CodeValueTooLarge, Field: "payload", Limit: MaxValue, Have: uint64(len(payload)), Reason: "the payload is too long"}
	}
	due := momentOf(at)
	if _, err := tx.Cancel(name); err != nil {
		return err
	}
	tx.u.put(tx.u.key(Row{Scope: tx.scope, Shape: ShapeJob, Key: []byte(name)}), append(u64Bytes(due), payload...))
	tx.u.due(tx.jobDue(name, due))
	return nil
}

// Cancel removes a job, and says whether there was one.
func (tx *Tx) Cancel(name string) (bool, error) {
	j, err := tx.job(name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tx.u.delete(tx.u.key(Row{Scope: tx.scope, Shape: ShapeJob, Key: []byte(name)}))
	tx.u.delete(tx.u.key(tx.jobDue(name, j.due)))
	return true, nil
}

// Scheduled returns a job that is scheduled, and whether there is one of the name.
func (tx *Tx) Scheduled(name string) (j Job, due bool, err error) {
	if j, err = tx.job(name); errors.Is(err, ErrNotFound) {
		return j, false, nil
	}
	return j, err == nil, err
}

func (tx *Tx) jobDue(name string, due uint64) Row {
	return Row{Shape: ShapeDue, Due: due, Of: tx.scope, Kind: byte(ShapeJob), Key: []byte(name)}
}

// job returns a job that is scheduled, or ErrNotFound.
func (tx *Tx) job(name string) (Job, error) {
	row := tx.u.key(Row{Scope: tx.scope, Shape: ShapeJob, Key: []byte(name)})
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return Job{}, notFound()
	}
	if err != nil {
		return Job{}, err
	}
	j, err := parseJob(row, value)
	j.Name = name
	return j, err
}
