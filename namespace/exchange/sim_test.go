package exchange_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/envelope"
)

// sim is a network of nodes: of two Admins, of members who come and go, of twins of these who go on as
// if nothing had happened, and of a stranger. What they say gets lost, comes late, twice, in another
// order or changed; sessions break off; nodes crash, go back to a copy, and have clocks of their own.
type sim struct {
	t        *testing.T
	r        *rand.Rand
	ns       codec.GroupID
	homes    []codec.GroupID // of each context
	nodes    []*simNode      // the Admins first
	stranger *simNode
	packets  []packet
	apart    func(a, b int) bool // nil: the network is whole
	places   []simPlace
	written  []writing
	step     int
	seen     *tally
}

// tally is what happened in some histories.
type tally struct {
	commits, acts, sessions, broken, packets, restored, forged, hidden, aside, blobs int
}

type simNode struct {
	*node
	at     int
	skew   time.Duration
	copied engine.Engine // nil: there is no copy
	twin   bool          // hears of no ops, and is hostile
}

// packet is an op, or an envelope of a context, on its way.
type packet struct {
	from, to int
	context  int // -1: it is an op
	bytes    []byte
}

// simPlace is where somebody could write once.
type simPlace struct {
	context int
	at      envelope.Place
	key     codec.Secret
	by      codec.Secret
}

// writing is what an honest node wrote, by which ops, and who was no member by these.
type writing struct {
	context int
	value   string
	cut     []codec.OpID
	away    []string
}

func (s *sim) begin(seed uint64) {
	t := s.t
	people := 3 + s.r.IntN(5)
	if seed%25 == 24 {
		people = 30
	}
	names := make([]string, people)
	for i := range names {
		names[i] = fmt.Sprintf("p%d", i)
	}
	first := s.join(names[0], codec.GroupID{})
	var err error
	s.ns, _, err = first.Governance.Create(bg, namespace.Create{})
	require.NoError(t, err)
	first.ns = s.ns
	below := first.below()
	for i, name := range names[1:] {
		role := codec.Member
		if i == 0 {
			role = codec.Admin
		}
		first.do(codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(name), Role: role})
		if i == 0 || s.r.IntN(2) == 0 {
			first.doIn(below, codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(name), Role: role})
		}
		s.join(name, s.ns)
	}
	s.homes = []codec.GroupID{s.ns, s.ns, below}
	for i, g := range s.homes {
		first.doIn(g, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: contextOf(i)})
	}
	for i := 2; i < people; i += 2 {
		s.join(names[i], s.ns).twin = true
	}
	s.stranger = s.join("stranger", codec.GroupID{})
	s.nodes = s.nodes[:len(s.nodes)-1]
	require.NoError(t, s.stranger.Governance.FollowNamespace(s.ns))
	for _, n := range s.nodes[1:] { // a twin knows the beginning, and no more
		s.tell(s.nodes[0], n)
	}
}

func (s *sim) join(name string, ns codec.GroupID) *simNode {
	n := &simNode{node: &node{t: s.t, name: name, db: mem.New(), ns: ns}, at: len(s.nodes)}
	n.clock = func() time.Time { return time.Now().Add(n.skew) }
	n.open()
	if !ns.IsZero() {
		n.identify()
	}
	s.nodes = append(s.nodes, n)
	return n
}

// below begins a group below the namespace.
func (n *node) below() (g codec.GroupID) {
	done, err := n.Governance.Propose(bg, n.ns, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: n.ns}})
	require.NoError(n.t, err)
	for _, b := range done.Wire {
		op, err := codec.SignedNamespaceOp{}.Decode(b)
		require.NoError(n.t, err)
		if op.Op.Root.Kind == codec.RootGroupCreated {
			g = op.Op.Root.GroupID
		}
	}
	return g
}

// tell gives a node all ops that another has.
func (s *sim) tell(from, to *simNode) {
	heads, err := to.Governance.Heads(bg, s.ns)
	require.NoError(s.t, err)
	for op, err := range from.Governance.OpsSince(bg, s.ns, heads, 0) {
		require.NoError(s.t, err)
		_, err = to.Governance.Apply(bg, op.Wire)
		require.NoError(s.t, err)
	}
}

// self is who the node is.
func (n *simNode) self() codec.NamespaceIdentityValue {
	v, err := n.Governance.ExportIdentity(n.ns)
	require.NoError(n.t, err)
	return v
}

// isMember reports whether somebody is a member of a group, by what a node knows.
func (s *sim) isMember(by *simNode, g codec.GroupID, who *simNode) bool {
	groups, err := by.Governance.MemberOf(s.ns, who.self().PublicKey)
	require.NoError(s.t, err)
	return slices.Contains(groups, g)
}

func (s *sim) any() *simNode { return s.nodes[s.r.IntN(len(s.nodes))] }

// chance reports, of n times, once true.
func (s *sim) chance(n int) bool { return s.r.IntN(n) == 0 }

// spread puts bytes on their way to some nodes.
func (s *sim) spread(from *simNode, context int, all ...[]byte) {
	for _, b := range all {
		for _, to := range s.nodes {
			if to != from && s.chance(3) {
				for range 1 + s.r.IntN(5)/4 {
					s.packets = append(s.packets, packet{from.at, to.at, context, b})
				}
			}
		}
	}
}

func (s *sim) next() {
	s.step++
	time.Sleep(time.Duration(s.r.IntN(2000)) * time.Millisecond)
	n := s.any()
	switch k := s.r.IntN(100); {
	case k < 30:
		s.write(n)
	case k < 42:
		s.act()
	case k < 62:
		s.meet(n, s.any())
	case k < 80:
		for range 1 + s.r.IntN(10) {
			s.deliver()
		}
	case k < 84:
		s.part()
	case k < 87:
		n.halt()
		n.open()
	case k < 89:
		s.copy(n)
	case k < 91:
		s.goBack(n)
	case k < 93:
		n.skew = time.Duration(s.r.IntN(8000)-4000) * time.Millisecond
		if s.chance(5) {
			n.skew = time.Hour
		}
	case k < 98:
		s.forge(n)
	default:
		s.visit(n)
	}
}

// write has a node write something that nobody else writes.
func (s *sim) write(n *simNode) {
	c := s.r.IntN(len(s.homes))
	id := contextOf(c)
	_, root, err := n.Contexts.Heads(id)
	if err != nil {
		root = codec.Hash{}
	}
	value := fmt.Sprintf("<%d by %s>", s.step, n.name)
	away := []string{s.stranger.name}
	if !n.twin {
		for _, other := range s.nodes {
			if !s.isMember(n, s.homes[c], other) {
				away = append(away, other.name)
			}
		}
	}
	actions := []codec.Action{put(fmt.Sprint(s.r.IntN(4)), value)}
	if s.chance(4) { // and says the same in a blob
		a, err := n.Blobs.Attachment(bg, id, n.blobOf(value, len(value)+s.r.IntN(3000)))
		require.NoError(s.t, err)
		actions = append(actions, put(string(a.AppKey), string(a.Value)))
	}
	done, err := n.Content.Commit(bg, dag.Commit{Context: id, Actions: actions, ReadRoot: root})
	s.spread(n, -1, done.Ops...)
	s.spread(n, c, done.Envelopes...)
	if err == nil {
		s.seen.commits++
		heads, err := n.Governance.Heads(bg, s.ns)
		require.NoError(s.t, err)
		s.written = append(s.written, writing{c, value, heads, away})
		return
	}
	requireAmong(s.t, err, namespace.ErrNotWriter, dag.ErrNoContext, namespace.ErrRestored, engine.ErrConflict, hlc.ErrAhead, hlc.ErrJumped)
}

// requireAmong demands that an error is nil, or one of some.
func requireAmong(t *testing.T, err error, some ...error) {
	t.Helper()
	if err != nil && !slices.ContainsFunc(some, func(e error) bool { return errors.Is(err, e) }) {
		require.NoError(t, err)
	}
}

// act has an Admin change who may do what.
func (s *sim) act() {
	by, who := s.nodes[s.r.IntN(2)], s.nodes[2+s.r.IntN(len(s.nodes)-2)]
	g := s.homes[1+s.r.IntN(2)]
	op := codec.GroupOp{Member: idOf(who.name)}
	switch s.r.IntN(6) {
	case 0, 1, 2:
		op.Kind = codec.OpMemberRemoved
	case 3, 4:
		op.Kind, op.Role = codec.OpMemberAdded, codec.Member
	default:
		op.Kind, op.Role = codec.OpMemberRoleSet, []codec.GroupMemberRole{codec.Member, codec.ReadOnly}[s.r.IntN(2)]
	}
	done, err := by.Governance.Propose(bg, s.ns, namespace.Proposal{GroupID: g, Group: &op})
	requireAmong(s.t, err, namespace.ErrNotEffective, namespace.ErrRestored, namespace.ErrNoKey)
	s.seen.acts++
	s.spread(by, -1, done.Wire...)
}

// forge has who could write at a place once write there again, on top of what some node has.
func (s *sim) forge(n *simNode) {
	c := s.r.IntN(len(s.homes))
	if by, err := n.Governance.Author(bg, s.ns, contextOf(c)); err == nil {
		s.spread(n, -1, by.Made.Wire...)
		s.places = append(s.places, simPlace{c, envelope.Place{Cut: by.Cut, KeyOp: by.KeyOp}, by.Key, n.self().PrivateKey})
	}
	if len(s.places) == 0 {
		return
	}
	p := s.places[s.r.IntN(len(s.places))]
	id := contextOf(p.context)
	heads, root, err := n.Contexts.Heads(id)
	var parents []codec.EnvelopeID
	if err == nil {
		parents = n.heads(id)
	}
	if len(parents) != len(heads) || len(heads) > 1 {
		return
	}
	d := &dag.Delta{Context: id, ExpectedRoot: root, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(n.clock()))}}
	for _, h := range heads {
		d.Parents = append(d.Parents, h.ID)
		d.HLC.Time = max(d.HLC.Time, h.HLC.Time+1)
	}
	p.at.Parents = parents
	d.HLC.ID, err = envelope.Node(group.IdentityOf(p.by), id, p.at)
	require.NoError(s.t, err)
	e, err := envelope.Seal(d, p.at, p.key, p.by)
	require.NoError(s.t, err)
	s.seen.forged++
	s.spread(n, p.context, e.Bytes())
}

// visit has a node have a session with who is no member, and gets nothing.
func (s *sim) visit(n *simNode) {
	if n.twin {
		return
	}
	left, right := net.Pipe()
	both := meetOver(s.t, n.node, s.stranger.node, left, right)
	require.NoError(s.t, errors.Join(both.errA, both.errB))
	heads, err := s.stranger.Governance.Heads(bg, s.ns)
	require.NoError(s.t, err)
	require.Empty(s.t, heads)
}

func (s *sim) close() {
	for _, n := range append(s.nodes, s.stranger) {
		if n == nil {
			continue
		}
		n.close()
		if n.copied != nil {
			require.NoError(s.t, n.copied.Close())
		}
	}
}

// foundSeeds are those of histories that failed once: a removal that nothing had looked at when a session
// came, ops of which each waited on another node, and a key that an Admin gave and forgot.
var foundSeeds = []uint64{602686, 603147, 740675}

// Whatever the network does, and whoever else is on it: once it is whole, honest members have the same,
// and nobody else can read what was not for them. STOA_SIM_SEED=n begins with history n; where
// sessions break off depends on goroutines too.
func TestANetworkOfNodesConverges(t *testing.T) {
	first, histories := uint64(0), uint64(enginetest.Scale(100))
	if text := os.Getenv("STOA_SIM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		first = n
	}
	var all tally
	var seeds []uint64
	if first == 0 {
		seeds = slices.Clone(foundSeeds)
	}
	for i := range histories {
		seeds = append(seeds, first+i)
	}
	for i, seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("failed after %d histories: STOA_SIM_SEED=%d", i+1, seed)
				}
			}()
			s := &sim{t: t, r: rand.New(rand.NewPCG(seed, 77)), seen: &all}
			defer s.close()
			s.begin(seed)
			for range 30 + s.r.IntN(120) {
				s.next()
			}
			present := s.heal()
			s.check(present)
			s.hide(present)
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories: %+v", histories, all)
	if first == 0 && histories >= 50 {
		require.NotZero(t, all.aside)
		require.NotZero(t, all.hidden)
		require.NotZero(t, all.restored)
		require.NotZero(t, all.blobs)
	}
}
