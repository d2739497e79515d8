// Package exchange exchanges all that belongs to namespaces with another node, over any ordered stream
// of bytes: ops of governance, the deltas of contexts, sealed as they are, and blobs. Start at [Run].
// rpc/SYNC.md has the protocol.
package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
)

// Stores are what a node has to exchange.
type Stores struct {
	Governance *namespace.Store
	Contexts   *dag.Store
	Content    *content.Store
	Blobs      *blob.Store // nil: there are none
}

// Options say how a session goes.
type Options struct {
	// Initiator is set by one of the two, whichever: who has called the other.
	Initiator bool
	// Namespaces are what is exchanged; none: all that are here.
	Namespaces []codec.GroupID
	// Contexts are those of which deltas are exchanged; none: all.
	Contexts []codec.ContextID
	// Anyone has the peer be given what it asks for without a proof that it is a member: it is a copy
	// of this node, or one whom its owner trusts with what is sealed, and with ops, which are clear.
	Anyone bool
	// Blobs is the size in bytes of the largest blob that is taken in, of those that contexts and the
	// applications of groups name; 0: none are. The peer is given what it asks for in any case.
	Blobs uint64
	// Idle is how long nothing may come from the peer before the session fails; 0: a minute.
	Idle time.Duration
	// Rand is where nonces come from; nil: crypto/rand.
	Rand io.Reader
	// Progress is called after each turn with what went so far, by one goroutine; nil: nobody asks.
	Progress func(*Report)
}

// session is one under way. Its fields are the goroutine's that runs it, but for what it sends of.
type session struct {
	*wire
	Stores
	o     Options
	ctx   context.Context
	turns int

	nonce, theirs [32]byte // of this side, and of the peer
	common        []*shared
	differing     []*difference
	named         []*difference // as the peer numbers them; nil: not one of those that differ here
	forged        int
	waits         int  // bytes of envelopes that wait
	asked         int  // envelopes that were asked for
	peerBlobs     bool // it takes in blobs
}

// shared is a namespace that both have.
type shared struct {
	id         codec.GroupID
	token      token
	same       bool // what both have is the same, to begin with
	open       bool // governance is not level yet
	peer       codec.Identity
	proven     bool
	heads      token        // the digest of those of the peer, as of what it last said
	haves      []codec.OpID // of the peer
	stored     uint32       // here, in the last round
	peerStored uint32       // and there
	had        bool         // there were ops here and there at the beginning
	report     NamespaceReport
	ops        namespace.Exchange             // to here
	contexts   map[codec.ContextID]codec.Hash // that the peer may read; zero: nothing of it is here
	groups     []codec.GroupID                // of these
	lacks      int                            // blobs that are named and not here
	sent       int                            // blobs, in the turn that goes on
	takes      map[codec.ContextID]bool       // of which envelopes are taken in
}

// Run exchanges what both sides have over a stream, until they are level or know why they are not. It
// closes the stream, at the latest when ctx ends. What was exchanged before an error is kept, and not
// sent again by the next session. It returns the report in any case; [ErrProtocol], [ErrPeer],
// [ErrStalled], or the error of the stream or of a store.
func Run(ctx context.Context, stream io.ReadWriteCloser, stores Stores, o Options) (*Report, error) {
	o.Idle = cmp.Or(o.Idle, time.Minute)
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{wire: newWire(stream, o.Idle), Stores: stores, o: o, ctx: ctx}
	closing := context.AfterFunc(ctx, func() { _ = stream.Close() })
	go s.write(ctx)
	go s.read(ctx)
	err := s.run()
	if err == nil {
		err = s.met()
	}
	if err == nil {
		close(s.out)
		<-s.broken
		if !errors.Is(s.err, io.ErrClosedPipe) {
			err = s.err
		}
	} else {
		s.complain(err)
	}
	closing()
	cancel(nil)
	_ = stream.Close()
	<-s.dead
	<-s.broken
	return s.report(), err
}

// complain tells the peer why the session ends.
func (s *session) complain(err error) {
	if s.ctx.Err() != nil || errors.Is(err, ErrPeer) || errors.Is(err, ErrStalled) {
		return
	}
	said := "it could not go on"
	if errors.Is(err, ErrProtocol) {
		said = err.Error()
	}
	late := time.AfterFunc(time.Second, func() { _ = s.conn.Close() })
	defer late.Stop()
	select {
	case s.out <- message{kindFault, []byte(said[:min(len(said), maxFault)])}:
		close(s.out)
		<-s.broken
	case <-s.broken:
	case <-time.After(time.Second):
	}
}

func (s *session) run() error {
	if err := s.hello(); err != nil {
		return err
	}
	if err := s.meet(); err != nil {
		return err
	}
	blobs := s.o.Blobs > 0 || s.peerBlobs
	level := !slices.ContainsFunc(s.common, func(n *shared) bool { return !n.same })
	if level && (!blobs || len(s.common) == 0) {
		return nil
	}
	for _, n := range s.common {
		n.open = n.open || blobs // it takes a proof
	}
	if err := s.governance(); err != nil {
		return err
	}
	if !level {
		if err := s.content(); err != nil {
			return err
		}
	}
	if !blobs {
		return nil
	}
	return s.blobs()
}

// turn sends what send puts, and gives take what the peer puts meanwhile, of the kinds that it takes,
// until both are done.
func (s *session) turn(send func(put func(kind, []byte) error) error, take func(kind, []byte) error, takes ...kind) error {
	s.turns++
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	sent := make(chan error, 1)
	var over atomic.Bool // all is sent, or is about to be
	go func() {
		err := send(func(k kind, body []byte) error { return s.put(ctx, k, body) })
		if err == nil {
			over.Store(true)
			err = s.put(ctx, kindDone, nil)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errBroken) {
			_ = s.conn.Close() // what is read fails
		}
		sent <- err
	}()
	err := s.takeAll(take, takes)
	if err != nil {
		cancel(err)
	}
	failed, early := s.awaitSent(sent, cancel, &over)
	if err == nil {
		err = early
	}
	if failed != nil && (err == nil || !errors.Is(failed, errBroken) && !errors.Is(failed, err)) {
		err = failed
	}
	if s.o.Progress != nil && err == nil {
		s.o.Progress(s.report())
	}
	return err
}

// awaitSent waits until a turn is sent, which the peer has ended. Whoever has the peer wait for room
// that is never given, or begins another turn meanwhile, ends the session.
func (s *session) awaitSent(sent <-chan error, cancel context.CancelCauseFunc, over *atomic.Bool) (failed, early error) {
	came := s.came
	for {
		select {
		case failed = <-sent:
			return failed, early
		case m, ok := <-came:
			came = nil
			switch {
			case !ok:
				cancel(s.why)
			case over.Load():
				s.first = &m // of the next turn
			default:
				early = malformed("a message of kind %d before the turn was over", m.kind)
				cancel(early)
			}
		case <-s.dead:
			cancel(s.why)
			return <-sent, early
		}
	}
}

// takeAll gives take messages until one says that the turn is over.
func (s *session) takeAll(take func(kind, []byte) error, takes []kind) error {
	for {
		k, body, err := s.next()
		if err != nil {
			return err
		}
		if k == kindDone {
			if len(body) > 0 {
				return malformed("%d bytes after the end of a turn", len(body))
			}
			return nil
		}
		if !slices.Contains(takes, k) {
			return malformed("a message of kind %d, out of turn", k)
		}
		if err := take(k, body); err != nil {
			return err
		}
		if k.carries() {
			s.took(len(body))
		}
	}
}

// hello exchanges nonces.
func (s *session) hello() error {
	if _, err := io.ReadFull(s.o.Rand, s.nonce[:]); err != nil {
		return err
	}
	heard := false
	role := s.role(s.o.Initiator)
	return s.turn(func(put func(kind, []byte) error) error {
		return put(kindHello, append([]byte{role, flag(s.o.Blobs > 0)}, s.nonce[:]...))
	}, func(_ kind, body []byte) error {
		c := cutter.New("hello", body)
		theirs, takes := c.U8("role"), c.U8("takes")
		s.theirs = [32]byte(c.Hash("nonce"))
		if err := ended(&c); err != nil {
			return err
		}
		switch {
		case heard:
			return malformed("two greetings")
		case theirs != s.role(!s.o.Initiator):
			return malformed("both have called, or both were: one side connects, the other serves")
		case s.theirs == s.nonce:
			return malformed("it repeats what it hears")
		}
		heard, s.peerBlobs = true, takes&1 != 0
		return nil
	}, kindHello)
}

// role is how a side is called in what is signed.
func (s *session) role(initiator bool) byte {
	if initiator {
		return 1
	}
	return 2
}

// nonces returns both, that of the initiator first.
func (s *session) nonces() []byte {
	first, second := s.nonce, s.theirs
	if !s.o.Initiator {
		first, second = second, first
	}
	return append(append(make([]byte, 0, 64), first[:]...), second[:]...)
}

// What is hashed or signed here begins with one of these; none begins another.
const (
	domainToken  = "stoa.sync.namespace.v1" // how a namespace is called within a session
	domainDigest = "stoa.sync.state.v1"     // what a side has of it
	domainMember = "stoa.sync.member.v1"    // who a side is there
)

// blinded returns a hash that only who knows ns, and what follows, can make, in this session.
func (s *session) blinded(domain string, ns codec.GroupID, of ...[]byte) token {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write(s.nonces())
	h.Write(ns[:])
	for _, b := range of {
		h.Write(b)
	}
	return token(h.Sum(nil)[:16])
}

// maxNamespaces is how many a side may have.
const maxNamespaces = 1 << 16

// meet finds out which namespaces both have, and of which they have something else.
func (s *session) meet() error {
	all, err := s.wanted()
	if err != nil {
		return err
	}
	type mine struct {
		*shared
		digest token
	}
	var own []mine
	for _, id := range all {
		digest, err := s.digest(id)
		if err != nil {
			return err
		}
		own = append(own, mine{&shared{id: id, token: s.blinded(domainToken, id)}, digest})
	}
	slices.SortFunc(own, func(a, b mine) int { return bytes.Compare(a.token[:], b.token[:]) })
	heard := false
	return s.turn(func(put func(kind, []byte) error) error {
		var body []byte
		for _, m := range own {
			body = append(append(body, m.token[:]...), m.digest[:]...)
		}
		return put(kindNamespaces, body)
	}, func(_ kind, body []byte) error {
		if heard || len(body)%32 != 0 || len(body)/32 > maxNamespaces {
			return malformed("namespaces in %d bytes, or twice", len(body))
		}
		heard = true
		var last token
		for i := 0; len(body) > 0; i++ {
			t, digest := token(body), token(body[16:])
			body = body[32:]
			if i > 0 && bytes.Compare(last[:], t[:]) >= 0 {
				return malformed("namespaces that are not in ascending order")
			}
			last = t
			if at, ok := slices.BinarySearchFunc(own, t, func(m mine, t token) int { return bytes.Compare(m.token[:], t[:]) }); ok {
				m := own[at]
				m.same = m.digest == digest
				m.open, m.report = !m.same, NamespaceReport{ID: m.id, Level: m.same}
				s.common = append(s.common, m.shared)
			}
		}
		return nil
	}, kindNamespaces)
}

// wanted returns the namespaces that are to be exchanged.
func (s *session) wanted() ([]codec.GroupID, error) {
	if len(s.o.Namespaces) > 0 {
		all := slices.Clone(s.o.Namespaces)
		slices.SortFunc(all, codec.CompareID)
		return slices.Compact(all), nil
	}
	return s.Governance.Namespaces(codec.GroupID{}, maxNamespaces)
}

// digest returns what this side has of a namespace, as a hash.
func (s *session) digest(id codec.GroupID) (token, error) {
	heads, err := s.Governance.Heads(s.ctx, id)
	if err != nil {
		return token{}, err
	}
	contexts := sha256.New()
	err = s.eachContext(id, func(_ codec.GroupID, c codec.ContextID, digest codec.Hash) {
		if !digest.IsZero() {
			contexts.Write(c[:])
			contexts.Write(digest[:])
		}
	})
	return s.blinded(domainDigest, id, hashOf(heads), contexts.Sum(nil)), err
}

// eachContext calls fn with the contexts of groups of a namespace that are to be exchanged, by their
// ids, with their groups and the digests of their heads.
func (s *session) eachContext(ns codec.GroupID, fn func(codec.GroupID, codec.ContextID, codec.Hash)) error {
	tree, err := s.Governance.Tree(ns)
	if errors.Is(err, namespace.ErrNoNamespace) {
		return nil
	}
	if err != nil {
		return err
	}
	type one struct {
		id codec.ContextID
		of codec.GroupID
	}
	var all []one
	for _, g := range tree {
		contexts, err := s.Governance.Contexts(g.ID, codec.ContextID{}, 0)
		if err != nil {
			return err
		}
		for _, c := range contexts {
			if len(s.o.Contexts) == 0 || slices.Contains(s.o.Contexts, c.ID) {
				all = append(all, one{c.ID, g.ID})
			}
		}
	}
	slices.SortFunc(all, func(a, b one) int { return codec.CompareID(a.id, b.id) })
	for _, c := range all {
		digest, _, err := s.Content.Digest(c.id)
		if err != nil {
			return err
		}
		fn(c.of, c.id, digest)
	}
	return nil
}
