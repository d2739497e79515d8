package namespace

import (
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/group"
)

// KeyName names a key of a group by the op that introduces it.
type KeyName struct {
	GroupID codec.GroupID
	Op      codec.OpID
}

// keyState is what has been found out of a key that an op hands out. It follows from the
// op and its own past, and never changes but for what is found out with the key itself.
type keyState uint8

const (
	keyUnjudged keyState = iota // ops of version 1 that may say who was a member are not opened here
	keyClear                    // its signer was a member, and its recipients were exactly the members; of a delivery: valid
	keyWrong                    // not so
	keyGood                     // and by its bytes all of them get it, and the keys that it carries
	keyBad                      // and by its bytes they do not
)

// handouts is an index of the ops of version 2 that hand out keys: those that introduce
// one, and deliveries.
type handouts struct {
	introduced map[codec.GroupID][]int // ops, in the order in which they came
	of         map[GroupKey][]int      // those that introduce a key of this id
	bySigner   map[codec.GroupID]map[codec.Identity][]int
	used       map[codec.GroupID]map[int]bool // those under whose key somebody else has sealed
	carriers   map[KeyName][]int              // ops whose key of the same group opens it
	deliveries map[KeyName][]int
	unjudged   []int // ops of which it is to be found out, in the order in which they came
	undecided  []int // likewise, once more ops of version 1 are opened
	again      bool  // some were, since the last attempt
}

func newHandouts() handouts {
	return handouts{introduced: map[codec.GroupID][]int{}, of: map[GroupKey][]int{}, bySigner: map[codec.GroupID]map[codec.Identity][]int{},
		used: map[codec.GroupID]map[int]bool{}, carriers: map[KeyName][]int{}, deliveries: map[KeyName][]int{}}
}

// take adds op i; judged: it is known what is clear of what it hands out.
func (h *handouts) take(i int, op *Op, judged bool) {
	for _, k := range op.Keys {
		h.introduced[k.GroupID] = append(h.introduced[k.GroupID], i)
		name := GroupKey{k.GroupID, k.KeyID}
		h.of[name] = append(h.of[name], i)
		if h.bySigner[k.GroupID] == nil {
			h.bySigner[k.GroupID] = map[codec.Identity][]int{}
		}
		h.bySigner[k.GroupID][op.Signer] = append(h.bySigner[k.GroupID][op.Signer], i)
		for _, earlier := range k.Carried {
			name := KeyName{k.GroupID, earlier}
			h.carriers[name] = append(h.carriers[name], i)
		}
	}
	if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivered {
		name := KeyName{r.GroupID, r.KeyOp}
		h.deliveries[name] = append(h.deliveries[name], i)
	}
	if op.handsOut() > 0 && !judged {
		h.unjudged = append(h.unjudged, i)
	}
}

// ownKeys is how many of the keys that one signer has introduced, and nobody else has sealed
// under, a node seals under, carries and delivers, if the signer is no Admin: the last ones.
// Members can make any number.
const ownKeys = 64

// candidates returns the ops that introduce the keys of g which may be usable.
func (c *loaded) candidates(g codec.GroupID) []int {
	h := &c.handouts
	if len(h.introduced[g]) <= ownKeys {
		return h.introduced[g]
	}
	found := slices.Collect(maps.Keys(h.used[g]))
	for signer, all := range h.bySigner[g] {
		if !c.ledger.IsAdmin(g, signer) {
			all = all[max(0, len(all)-ownKeys):]
		}
		found = append(found, all...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// sealedUnder notes that an op is sealed under a key, if somebody else has introduced that.
func (c *loaded) sealedUnder(op *Op) {
	if op.Version == codec.OpVersion1 || !op.sealed() {
		return
	}
	if i, own := c.introduces(KeyName{op.GroupID, op.KeyOp}); own != nil && c.ledger.Op(i).Signer != op.Signer {
		used := c.handouts.used[op.GroupID]
		if used == nil {
			used = map[int]bool{}
			c.handouts.used[op.GroupID] = used
		}
		used[i] = true
	}
}

// handsOut returns of how many keys op hands out there is something to find out.
func (op *Op) handsOut() int {
	if op.Root != nil && op.Root.Kind == codec.RootKeyDelivered {
		return 1
	}
	return len(op.Keys)
}

// introduces returns which op introduces the key of that name, and what everyone sees of
// it; nil: none does.
func (c *loaded) introduces(name KeyName) (int, *KeySkeleton) {
	i, known := c.ledger.Find(name.Op)
	if !known {
		return 0, nil
	}
	return i, c.keysOf(i, name.GroupID)
}

// keysOf returns what everyone sees of the key of g that op i introduces, or nil. One of
// version 1 is named likewise, since a group can have one by an op.
func (c *loaded) keysOf(i int, g codec.GroupID) *KeySkeleton {
	for _, r := range c.ops[i].rotations {
		if r.GroupID == g {
			return &KeySkeleton{GroupID: g, KeyID: r.NewKeyID, Recipients: r.Recipients}
		}
	}
	for k := range c.ops[i].keys {
		if own := &c.ops[i].keys[k]; own.GroupID == g {
			return own
		}
	}
	return nil
}

// isIntroduced reports whether an op of the cut introduces the key of that name.
func (c *loaded) isIntroduced(name KeyName, cut group.Cut) bool {
	i, key := c.introduces(name)
	return key != nil && cut.Has(i)
}

// state returns what has been found out of the key of a group that op i hands out.
func (c *loaded) state(i int, g codec.GroupID) *keyState {
	at := 0
	for k := range c.ops[i].keys {
		if c.ops[i].keys[k].GroupID == g {
			at = k
		}
	}
	return &c.facts[i].keys[at]
}

// past is the state of a namespace at a cut: who was a member of which group.
type past struct {
	ledger *group.Ledger
	has    []bool       // of the ops of the namespace
	heads  []codec.OpID // of the cut
}

// replays is what it took to know pasts that are no continuation of the one that was known, in ops
// that were judged again, by who asked for it; and what it may take.
type replays struct {
	spent map[codec.Identity]int
	taken int // ops, since the namespace was loaded
}

// Of the ops that hand out keys at a cut that has to be judged anew, one signer has as many taken
// as that costs 16 times what there is, and from then on what 64 judgements for each op that is
// taken of anybody come to.
const (
	freeReplays  = 16
	shortReplay  = 256 // ops cost nothing
	judgedPerOp  = 64
	leastHistory = 4096
)

// isCostly reports whether an op that hands out keys, all of whose parents are here, is one whose
// cut has to be judged anew where that was done for its signer too often.
func (c *loaded) isCostly(op *Op) bool {
	if op.handsOut() == 0 || c.replays.spent[op.Signer] <= freeReplays*max(c.ledger.Len(), leastHistory)+judgedPerOp*c.replays.taken {
		return false
	}
	cut, err := c.ledger.Cut(op.Parents)
	return err == nil && !cut.All() && !c.past.isWithin(cut, c.ledger)
}

// isWithin reports whether p is the state at a part of a cut of l.
func (p *past) isWithin(cut group.Cut, l *group.Ledger) bool {
	return p.ledger != nil && !slices.ContainsFunc(p.heads, func(id codec.OpID) bool {
		i, known := l.Find(id)
		return !known || !cut.Has(i)
	})
}

// stateAt returns the state at the cut of some heads, for an op of signer. The last one is kept
// in mind, since ops that follow each other ask for much the same.
func (c *loaded) stateAt(heads []codec.OpID, signer codec.Identity) (*group.Ledger, group.Cut, error) {
	cut, err := c.ledger.Cut(heads)
	if err != nil {
		return nil, cut, err
	}
	judged, err := c.goOn(&c.past, heads, cut)
	if err == nil && judged > shortReplay {
		c.replays.spent[signer] += judged
	}
	return c.past.ledger, cut, err
}

// goOn makes p the state at the cut of some heads, and returns how many ops it took where that
// was no continuation.
func (c *loaded) goOn(p *past, heads []codec.OpID, cut group.Cut) (judged int, err error) {
	anew := !p.isWithin(cut, c.ledger)
	if anew {
		*p = past{ledger: group.NewLedger(c.id, codec.Identity{})}
		p.ledger.Hold()
	}
	p.has = slices.Grow(p.has, c.ledger.Len()-len(p.has))[:c.ledger.Len()]
	var lacks []int
	for open := slices.Clone(heads); len(open) > 0; {
		i, _ := c.ledger.Find(open[len(open)-1])
		open = open[:len(open)-1]
		if !p.has[i] {
			p.has[i] = true
			lacks = append(lacks, i)
			open = append(open, c.ledger.Op(i).Parents...)
		}
	}
	slices.Sort(lacks) // parents come before children
	for _, i := range lacks {
		if _, err := p.ledger.Add(c.ledger.Op(i)); err != nil {
			*p = past{}
			return 0, err
		}
	}
	p.heads = slices.Clone(heads)
	if p.ledger.Settle(); anew {
		judged = len(lacks)
	}
	return judged, nil
}

// judgeHandouts finds out what is clear of the keys that were handed out, op by op, and
// returns the ops of which something was.
func (c *loaded) judgeHandouts() (judged []int, err error) {
	for len(c.handouts.unjudged) > 0 {
		i := c.handouts.unjudged[0]
		op := c.ledger.Op(i)
		at, cut, err := c.stateAt(op.Parents, op.Signer)
		if err != nil {
			return judged, err
		}
		if c.isDecided(op, at, cut) {
			if c.facts[i].keys, err = c.judgeHandout(op, c.ops[i].keys, at, cut); err != nil {
				return judged, err
			}
			judged = append(judged, i)
		} else {
			c.handouts.undecided = append(c.handouts.undecided, i)
		}
		c.handouts.unjudged = c.handouts.unjudged[1:]
	}
	return judged, nil
}

// judgeHandout finds out what is clear of the keys that op hands out; at is the state at
// the cut of its parents.
func (c *loaded) judgeHandout(op *group.Op, keys []KeySkeleton, at *group.Ledger, cut group.Cut) ([]keyState, error) {
	if r := op.Root; r != nil {
		if c.isDelivered(r, op.Signer, at, cut) {
			return []keyState{keyClear}, nil
		}
		return []keyState{keyWrong}, nil
	}
	states := make([]keyState, len(keys))
	members := make([][]codec.Identity, len(keys)) // with what the op does
	planned := group.Op{Version: op.Version, Parents: op.Parents, Signer: op.Signer, Nonce: op.Nonce, Group: op.Group, Body: op.Body}
	err := at.Try(&planned, func(group.Verdict) {
		for k := range keys {
			members[k] = at.Members(keys[k].GroupID)
		}
	})
	for k := range keys {
		states[k] = keyWrong
		if at.IsMember(keys[k].GroupID, op.Signer) && slices.Equal(members[k], keys[k].Recipients) {
			states[k] = keyClear
		}
	}
	return states, err
}

// isDelivered reports whether a delivery is valid at the cut of its parents: its signer
// holds the key there, and its recipients are members.
func (c *loaded) isDelivered(r *codec.RootOp, signer codec.Identity, at *group.Ledger, cut group.Cut) bool {
	holds := !c.eachHolder(KeyName{r.GroupID, r.KeyOp}, cut, func(id codec.Identity) bool { return id != signer })
	return holds && !slices.ContainsFunc(r.Envelopes, func(e codec.KeyEnvelope) bool { return !at.IsMember(r.GroupID, e.Recipient) })
}

// eachHolder calls fn with those who hold a key at a cut, by what is clear of it, some of
// them more than once, until it returns false; it reports whether it never did. Holders are
// the recipients of its introduction and of deliveries, and the holders of the keys that
// carry it; of each what was wrong does not count.
func (c *loaded) eachHolder(name KeyName, cut group.Cut, fn func(codec.Identity) bool) bool {
	seen := map[codec.OpID]bool{name.Op: true}
	for open := []KeyName{name}; len(open) > 0; {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		i, key := c.introduces(name)
		if key != nil && cut.Has(i) && c.isRight(i, name.GroupID) && slices.ContainsFunc(key.Recipients, func(id codec.Identity) bool { return !fn(id) }) {
			return false
		}
		for _, d := range c.handouts.deliveries[name] {
			if !cut.Has(d) || !c.isRight(d, name.GroupID) {
				continue
			}
			for _, e := range c.ledger.Op(d).Root.Envelopes {
				if !fn(e.Recipient) {
					return false
				}
			}
		}
		for _, k := range c.handouts.carriers[name] {
			if id := c.ledger.Op(k).ID; cut.Has(k) && c.isRight(k, name.GroupID) && !seen[id] {
				seen[id] = true
				open = append(open, KeyName{name.GroupID, id})
			}
		}
	}
	return true
}

// isRight reports whether op i hands out a key of g as it should, by what is clear. What is
// not judged is of no cut that is asked about.
func (c *loaded) isRight(i int, g codec.GroupID) bool {
	if c.isOfVersion1(i) {
		return false
	}
	s := *c.state(i, g)
	return s == keyClear || s == keyGood || s == keyBad
}

// isGood reports whether a key is good: what is clear of it is, and by its bytes all get it
// who were to. known is false where this node does not have it. stored returns an op as it
// was taken.
func (c *loaded) isGood(name KeyName, stored func(codec.OpID) (*Op, error)) (good, known bool, err error) {
	i, own := c.introduces(name)
	if own == nil || c.isOfVersion1(i) {
		return false, true, nil
	}
	s := c.state(i, name.GroupID)
	if *s != keyClear {
		return *s == keyGood, *s != keyUnjudged, nil
	}
	key, has := c.ring[GroupKey{name.GroupID, own.KeyID}]
	if !has {
		return false, false, nil
	}
	op, err := stored(name.Op)
	if err != nil {
		return false, false, err
	}
	without, carries := c.faulty(name.GroupID, op, key)
	if *s = keyGood; len(without) > 0 || !carries {
		*s = keyBad
		return false, true, nil
	}
	c.keepGood(name, key)
	return true, true, nil
}

// faulty returns who does not get the key of g that op introduces, and whether it carries
// what it says.
func (c *loaded) faulty(g codec.GroupID, op *Op, key codec.Secret) (without []codec.Identity, carries bool) {
	n := newKeyOf(op.Signed, g)
	if n == nil {
		return nil, false
	}
	return siteOf(op.Signed, g).faulty(key, n, func(earlier codec.OpID) (codec.KeyID, bool) {
		_, own := c.introduces(KeyName{g, earlier})
		if own == nil {
			return codec.KeyID{}, false
		}
		return own.KeyID, true
	})
}

// keepGood notes that a key, which this node has, is good.
func (c *loaded) keepGood(name KeyName, key codec.Secret) {
	c.ringMu.Lock()
	defer c.ringMu.Unlock()
	c.good[name] = key
}

// putFact writes the row of op i.
func (b *batch) putFact(i int) {
	if b.s.viewing {
		return // it is found out again by who asks
	}
	b.rows.Put(column.Generic, numbered(opScope, b.c.id, uint64(i)), b.c.facts[i].appendBinary(nil))
}

// judgeAtOnce finds out what is clear of the keys that op, which is about to be taken,
// hands out, if it stands on all others: that is the state of now. Else it returns nil.
func (b *batch) judgeAtOnce(op *Op) ([]keyState, error) {
	c := b.c
	if op.handsOut() == 0 || len(c.handouts.unjudged) > 0 {
		return nil, nil
	}
	cut, err := c.ledger.Cut(op.Parents)
	if err != nil || !cut.All() {
		return nil, err
	}
	b.settle()
	read := op.asRead(nil, 0)
	if !c.isDecided(read, c.ledger, cut) {
		return nil, nil
	}
	return c.judgeHandout(read, op.Keys, c.ledger, cut)
}

// judge finds out what is clear of all keys that were handed out.
func (b *batch) judge() error {
	judged, err := b.c.judgeHandouts()
	for _, i := range judged {
		b.putFact(i)
	}
	return err
}

// isGood is that of loaded, and notes what it finds out.
func (b *batch) isGood(name KeyName) (good, known bool, err error) {
	if err := b.judge(); err != nil {
		return false, false, err
	}
	i, own := b.c.introduces(name)
	if own == nil || b.c.isOfVersion1(i) {
		return false, true, nil
	}
	before := *b.c.state(i, name.GroupID)
	good, known, err = b.c.isGood(name, b.stored)
	if *b.c.state(i, name.GroupID) != before {
		b.putFact(i)
	}
	return good, known, err
}
