package namespace

import (
	"context"
	"iter"
	"runtime"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// Apply takes in an op, as it travels, and with it those that have waited for it. What
// becomes of it is the Answer; an error says that it could not be judged and that
// nothing of it is kept: [ErrClosed], engine.ErrCorrupt, an error of the engine, or that
// of ctx, which is looked at before anything is done. When Apply returns, what is stored
// is on disk.
func (s *Store) Apply(ctx context.Context, op []byte) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	x := s.check([][]byte{op})[0]
	if x.request == nil {
		return x.result()
	}
	if err := s.submit(x.answer.Namespace, x.request); err != nil {
		return Answer{}, err
	}
	s.makeRoom()
	return x.result()
}

// checked is an op whose form and signatures have been looked at.
type checked struct {
	answer  Answer
	request *request // nil: it is refused, and that is all
	err     error    // why that could not be found out
}

func (x *checked) result() (Answer, error) {
	if x.request == nil {
		return x.answer, x.err
	}
	if x.request.Err != nil {
		return Answer{}, x.request.Err
	}
	x.answer.complete()
	return x.answer, nil
}

// check does what can be done without the ancestors of ops, which is what takes time; for several less
// than for one after the other.
func (s *Store) check(wires [][]byte) []*checked {
	all := make([]*checked, len(wires))
	var ops []*Op
	var of []*checked
	for i, wire := range wires {
		x, op := s.parse(wire)
		if all[i] = x; op != nil {
			ops, of = append(ops, op), append(of, x)
		}
	}
	var passed []*arrival
	for i, r := range checkOps(ops, &s.verifier) {
		x := of[i]
		if r != nil {
			s.refuse(x, r)
			continue
		}
		a := &arrival{op: ops[i]}
		passed = append(passed, a)
		x.request = &request{Task: func(b *batch) error {
			x.answer = Answer{ID: a.op.ID}
			return b.accept(a, &x.answer)
		}}
	}
	s.preread(passed)
	return all
}

// parse reads an op of a namespace that is followed here; nil: what becomes of it is known.
func (s *Store) parse(wire []byte) (x *checked, op *Op) {
	x = &checked{}
	op, id, err := parseWire(wire)
	x.answer.ID, x.answer.Namespace = id, claimed(wire)
	if err != nil {
		s.refuse(x, &Refusal{id, BadForm, err.Error()})
		return x, nil
	}
	followed, err := s.follows(op.Signed.NamespaceID)
	switch {
	case err != nil:
		return &checked{err: err}, nil
	case !followed:
		x.answer.Kind, x.answer.Refusal = Refused, unfollowed(op)
		return x, nil
	}
	return x, op
}

// refuse has an op refused by its form or signatures, which is remembered.
func (s *Store) refuse(x *checked, r *Refusal) {
	x.answer.Kind, x.answer.Refusal = Refused, r
	x.request = s.refusing(x)
}

// preread opens sealed ops before their turn, where their keys are here.
func (s *Store) preread(all []*arrival) {
	var signed []group.SignedMessage
	var read []*unsealed
	var of []*arrival
	for _, a := range all {
		key, ok := s.keyAhead(a.op)
		if !ok {
			continue
		}
		u := s.unsealWith(a.op, key)
		if u.fault != 0 {
			a.read = u.opened(false)
			continue
		}
		signed, read, of = append(signed, group.MessageOf(u.plain, a.op.Signed.Signer)), append(read, u), append(of, a)
	}
	for i, good := range s.verifier.VerifyAll(signed) {
		of[i].read = read[i].opened(good)
	}
}

// keyAhead returns the key of a sealed op, if it is at hand.
func (s *Store) keyAhead(op *Op) (key codec.Secret, ok bool) {
	if !op.sealed() {
		return key, false
	}
	p := s.inUse(op.Signed.NamespaceID)
	if p == nil {
		return key, false
	}
	c := p.current.Load()
	if c == nil {
		return key, false
	}
	c.ringMu.RLock()
	defer c.ringMu.RUnlock()
	if op.Version == codec.OpVersion1 {
		key, ok = c.ring[GroupKey{op.GroupID, op.KeyID}]
	} else {
		key, ok = c.good[KeyName{op.GroupID, op.KeyOp}]
	}
	return key, ok
}

// ahead is how many ops of a stream are looked at, and at most how many are written
// together.
const ahead = 512

// ApplyMany is Apply for each of a stream of ops, in order: several are looked at side
// by side, and those of one namespace that follow each other are written together. The
// answers come in the order of the ops, each when it is on disk, and end with the first
// error. As an op that comes in is answered only after it was written, whoever sends
// them and waits for each answer gets no more than Apply.
func (s *Store) ApplyMany(ctx context.Context, ops iter.Seq[[]byte]) iter.Seq2[Answer, error] {
	return func(yield func(Answer, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		line := make(chan chan *checked, ahead) // in order
		go s.checkAll(ctx, ops, line)
		for {
			run, more := nextRun(line)
			if len(run) == 0 {
				if err := context.Cause(ctx); err != nil && !more {
					yield(Answer{}, err)
				}
				return
			}
			if !s.applyRun(run, yield) || !more {
				return
			}
		}
	}
}

// checkedOnce is how many ops of a stream are checked together at most.
const checkedOnce = 32

// checkAll checks ops side by side, those that are there together, and puts them into the line in order.
func (s *Store) checkAll(ctx context.Context, ops iter.Seq[[]byte], line chan<- chan *checked) {
	defer close(line)
	type job struct {
		wire []byte
		done chan *checked
	}
	jobs := make(chan job, checkedOnce)
	defer close(jobs)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for first := range jobs {
				some := []job{first}
				for more := true; more && len(some) < checkedOnce; {
					select {
					case j, ok := <-jobs:
						if more = ok; ok {
							some = append(some, j)
						}
					default:
						more = false
					}
				}
				wires := make([][]byte, len(some))
				for i := range some {
					wires[i] = some[i].wire
				}
				for i, x := range s.check(wires) {
					some[i].done <- x
				}
			}
		}()
	}
	for wire := range ops {
		done := make(chan *checked, 1)
		select {
		case jobs <- job{wire, done}:
		case <-ctx.Done():
			return
		}
		select {
		case line <- done:
		case <-ctx.Done():
			return
		}
	}
}

// nextRun waits for an op and takes along those of its namespace that are ready. It
// reports whether there may be more.
func nextRun(line <-chan chan *checked) (run []*checked, more bool) {
	done, ok := <-line
	if !ok {
		return nil, false
	}
	run = append(run, <-done)
	for len(run) < ahead {
		select {
		case done, ok = <-line:
			if !ok {
				return run, true // the next call finds the end
			}
			run = append(run, <-done)
		default:
			return run, true
		}
	}
	return run, true
}

// applyRun applies ops and yields the answers. It reports whether to go on.
func (s *Store) applyRun(run []*checked, yield func(Answer, error) bool) bool {
	var failed error
	for rest := run; len(rest) > 0 && failed == nil; {
		n := 1
		for n < len(rest) && rest[n].answer.Namespace == rest[0].answer.Namespace {
			n++
		}
		var requests []*request
		for _, x := range rest[:n] {
			if x.request != nil {
				requests = append(requests, x.request)
			}
		}
		if len(requests) > 0 {
			failed = s.submit(rest[0].answer.Namespace, requests...)
			s.makeRoom()
		}
		for _, x := range rest[:n] {
			a, err := x.result()
			if failed != nil && x.request != nil {
				a, err = Answer{}, failed
			}
			if !yield(a, err) || err != nil {
				return false
			}
		}
		rest = rest[n:]
	}
	return failed == nil
}
