package namespace

import (
	"context"
	"iter"
	"runtime"

	"github.com/stoadb/stoa/codec"
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
	x := s.check(op)
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

// check does what can be done without the op's ancestors, which is what takes time.
func (s *Store) check(wire []byte) *checked {
	x := &checked{}
	op, id, err := parseWire(wire)
	x.answer.ID, x.answer.Namespace = id, claimed(wire)
	if err != nil {
		x.answer.Refusal = &Refusal{id, BadForm, err.Error()}
	} else {
		followed, err := s.follows(op.Signed.NamespaceID)
		if err != nil {
			return &checked{err: err}
		}
		if !followed {
			x.answer.Kind, x.answer.Refusal = Refused, unfollowed(op)
			return x
		}
		x.answer.Refusal = checkOp(op, &s.verifier)
	}
	if x.answer.Refusal != nil {
		x.answer.Kind = Refused
		x.request = s.refusing(x)
		return x
	}
	a := &arrival{op: op, read: s.preread(op)}
	x.request = &request{Task: func(b *batch) error {
		x.answer = Answer{ID: op.ID}
		return b.accept(a, &x.answer)
	}}
	return x
}

// preread opens a sealed op before its turn, if its key is here.
func (s *Store) preread(op *Op) *opened {
	if !op.sealed() {
		return nil
	}
	p := s.inUse(op.Signed.NamespaceID)
	if p == nil {
		return nil
	}
	c := p.current.Load()
	if c == nil {
		return nil
	}
	c.ringMu.RLock()
	key, ok := c.good[KeyName{op.GroupID, op.KeyOp}]
	if op.Version == codec.OpVersion1 {
		key, ok = c.ring[GroupKey{op.GroupID, op.KeyID}]
	}
	c.ringMu.RUnlock()
	if !ok {
		return nil
	}
	return s.openWith(op, key)
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

// checkAll checks ops side by side and puts them into the line in order.
func (s *Store) checkAll(ctx context.Context, ops iter.Seq[[]byte], line chan<- chan *checked) {
	defer close(line)
	type job struct {
		wire []byte
		done chan *checked
	}
	jobs := make(chan job)
	defer close(jobs)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for j := range jobs {
				j.done <- s.check(j.wire)
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
