package namespace

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// loaded is a namespace in memory: the causal order of its ops and what they amount to,
// who holds which key, and what waits. What is sealed, and signatures, stay on disk.
type loaded struct {
	id         codec.GroupID
	queue      *writeQueue
	renumbers  bool                                                 // what is stored of ops beside themselves does not count
	report     func(col column.Column, key []byte, err error) error // of damage; nil: it is an error
	ledger     *group.Ledger
	ops        []visible
	facts      []fact
	holders    holders
	statements []int               // ops that state authority
	shut       shut                // ops of version 1 that are not opened
	due        map[rotationAt]bool // memo of counts; until another op is opened
	handouts   handouts
	past       past // of the handout that was judged last
	contents   contents
	replays    replays
	pending    pending
	limits     *Options // of forks
	refused    refusals // lately

	identity codec.Option[codec.NamespaceIdentityValue]
	told     bool         // to follow the namespace
	restored bool         // and not resumed
	ringMu   sync.RWMutex // guards writing to ring; whoever serves reads without
	ring     Keyring
	good     map[KeyName]codec.Secret  // those of ring by name that are good; guarded as ring is
	locked   map[GroupKey][]int        // ops that wait for a key
	openable []int                     // ops whose key has come
	logs     map[codec.GroupID][]int32 // the readable ops of a group, by number
}

// rotationAt is the rotation of a group by an op.
type rotationAt struct {
	op codec.OpID
	g  codec.GroupID
}

// visible is what everyone sees of an op, besides what the ledger knows.
type visible struct {
	version   codec.OpVersion
	keyID     codec.KeyID // under which it is sealed
	rotations []codec.RotationSkeleton
	keys      []KeySkeleton
	whole     bool // the payload is here
}

// self returns the identity of this node; zero: it has none.
func (c *loaded) self() codec.Identity { return c.identity.V.PublicKey }

// load reads a namespace, which may have no ops yet. Rows that older rules have made are
// made anew, unless nothing can be written: ops are judged by the rules of this build
// anyway.
func (s *Store) load(ns codec.GroupID) (*loaded, error) {
	made, err := rulesOf(s.db, ns)
	if err == nil {
		err = newerRules(ns, made)
	} else if s.viewing && s.options.Damaged != nil && errors.Is(err, engine.ErrCorrupt) {
		err = s.options.Damaged(column.Generic, scoped(nil, rulesScope, ns), err)
	}
	switch {
	case err != nil:
		return nil, err
	case s.viewing:
		c, _, err := fold(s.db, ns, s.options.Damaged)
		if err == nil { // both would be written
			c.openable, c.pending.ready = nil, nil
		}
		return c, err
	case stale(made):
		if c, err := s.refold(ns, made); !errors.Is(err, engine.ErrReadOnly) {
			return c, err
		}
	}
	c, _, err := fold(s.db, ns, nil)
	return c, err
}

func newLoaded(ns codec.GroupID) *loaded {
	return &loaded{id: ns, ring: Keyring{}, good: map[KeyName]codec.Secret{}, locked: map[GroupKey][]int{}, logs: map[codec.GroupID][]int32{},
		holders: newHolders(), due: map[rotationAt]bool{}, handouts: newHandouts(), shut: shut{}, replays: replays{spent: map[codec.Identity]int{}}, limits: &Options{MaxForks: maxForks, MaxSignerHeads: maxSignerHeads}}
}

// fold reads a namespace, and tells of damage, if anybody is to be told. The rows are
// those that follow from its ops, and some that do not.
func fold(r engine.Reader, ns codec.GroupID, report func(column.Column, []byte, error) error) (*loaded, []group.RowChange, error) {
	c := newLoaded(ns)
	c.report = report
	rows, err := c.fold(r)
	return c, rows, err
}

func (c *loaded) fold(r engine.Reader) ([]group.RowChange, error) {
	ns := c.id
	identity, err := engine.Get(r, keys.NamespaceIdentity{Namespace: ns})
	switch {
	case err == nil:
		c.identity = codec.Some(identity)
	case !errors.Is(err, engine.ErrNotFound):
		return nil, err
	}
	if c.told, err = isTold(r, ns); err != nil {
		return nil, err
	}
	if c.restored, err = isRestored(r, ns); err != nil {
		return nil, err
	}
	c.ledger = group.NewLedger(ns, c.self())
	if err := c.loadOps(r); err != nil {
		return nil, err
	}
	c.ledger.Settle()
	rows, _, err := c.ledger.Rows()
	if err != nil {
		return nil, err
	}
	if err := c.loadKeys(r); err != nil {
		return nil, err
	}
	return rows, c.loadPending(r)
}

// loadOps adds all ops to the ledger, in the order in which they were taken.
func (c *loaded) loadOps(r engine.Reader) error {
	var facts []fact
	err := each(r, scoped(nil, opScope, c.id), func(key, value []byte) error {
		n, err := numberOf(key)
		if err == nil && n != uint64(len(facts)) && c.report == nil { // else who reads has told
			err = damaged(key, fmt.Sprintf("number %d follows %d ops", n, len(facts)))
		}
		if err != nil {
			return c.beside(column.Generic, key, err)
		}
		f, err := parseFact(key, value)
		if err != nil {
			return c.beside(column.Generic, key, err)
		}
		if c.renumbers {
			f = fact{id: f.id}
		}
		facts = append(facts, f)
		return nil
	})
	if err != nil || len(facts) == 0 {
		return err
	}
	for n := range facts {
		if seq := facts[n].seq; seq > uint64(len(facts)) { // or there would be as many places
			key := numbered(opScope, c.id, uint64(n))
			facts[n].seq = 0
			if err := c.beside(column.Generic, key, damaged(key, fmt.Sprintf("number %d in the log of a group, of %d ops", seq, len(facts)))); err != nil {
				return err
			}
		}
	}
	c.facts, c.ops = slices.Grow(c.facts, len(facts)), slices.Grow(c.ops, len(facts))
	c.ledger.Hold() // everything is judged once
	for page := range readAhead(r, c.id, facts, c.report == nil) {
		if err := c.addPage(page); err != nil {
			return err
		}
	}
	return nil
}

// page is ops that follow each other, as they are stored.
type page struct {
	facts  []fact
	rows   []engine.Lookup
	ops    []*Op           // nil: damaged
	faults []error         // by which
	bodies []engine.Lookup // of those that were opened, in order
	err    error           // of reading
}

// How many ops are a page, and how many rows are read at once where they are read in the order
// of their keys, which is not that of the ops.
const (
	loadedAtOnce = 2048
	lookedUp     = 256 // where each is looked up
	readAtOnce   = 1 << 16
)

// readAhead yields the ops of a namespace, while the next are read and parsed. What lies beside each
// other is read at once, unless the store may be damaged: each row is then read by itself.
func readAhead(r engine.Reader, ns codec.GroupID, facts []fact, sound bool) iter.Seq[*page] {
	look, ops, atOnce := engine.Gather, loadedAtOnce, readAtOnce
	if !sound {
		ops, atOnce, look = lookedUp, lookedUp, func(r engine.Reader, _ column.Column, lookups []engine.Lookup) error {
			_, err := r.MultiGet(nil, lookups)
			return err
		}
	}
	return func(yield func(*page) bool) {
		pages, done := make(chan *page, 2), make(chan struct{})
		var reading sync.WaitGroup
		reading.Go(func() {
			defer close(pages)
			for many := range slices.Chunk(facts, atOnce) {
				rows, err := opRows(r, ns, many, look)
				for some := range slices.Chunk(many, ops) {
					p := &page{facts: some, rows: rows[:len(some)], err: err}
					rows = rows[len(some):]
					if err == nil {
						p.err = p.read(r, look)
					}
					select {
					case pages <- p:
					case <-done:
						return
					}
					if p.err != nil {
						return
					}
				}
			}
		})
		defer reading.Wait() // r is the caller's again
		defer close(done)
		for p := range pages {
			if !yield(p) {
				return
			}
		}
	}
}

// lookUp reads rows of one column.
type lookUp func(engine.Reader, column.Column, []engine.Lookup) error

// opRows returns the rows of ops, with an error too.
func opRows(r engine.Reader, ns codec.GroupID, facts []fact, look lookUp) ([]engine.Lookup, error) {
	rows := make([]engine.Lookup, len(facts))
	col := keys.NamespaceGovOp{}.Slot().Column
	for i, f := range facts {
		k, err := keys.NamespaceGovOp{Namespace: ns, Delta: f.id}.AppendBinary(nil)
		if err != nil {
			return rows, err
		}
		rows[i] = engine.Lookup{Column: col, Key: k}
	}
	return rows, look(r, col, rows)
}

// read parses ops, and reads their bodies.
func (p *page) read(r engine.Reader, look lookUp) error {
	p.parse()
	col := keys.GroupOpLog{}.Slot().Column
	for i, f := range p.facts {
		if op := p.ops[i]; op != nil && f.seq > 0 && op.Clear == nil {
			k, err := keys.GroupOpLog{Group: op.GroupID, Seq: keys.NewSeq(f.seq)}.AppendBinary(nil)
			if err != nil {
				return err
			}
			p.bodies = append(p.bodies, engine.Lookup{Column: col, Key: k})
		}
	}
	return look(r, col, p.bodies)
}

// parse parses all ops, on as many goroutines as there are processors.
func (p *page) parse() {
	p.ops, p.faults = make([]*Op, len(p.facts)), make([]error, len(p.facts))
	var parsing sync.WaitGroup
	each := max(lookedUp, len(p.facts)/runtime.GOMAXPROCS(0)+1)
	for from := 0; from < len(p.facts); from += each {
		parsing.Go(func() {
			for i := from; i < min(from+each, len(p.facts)); i++ {
				p.ops[i], p.faults[i] = parseRow(&p.rows[i], p.facts[i].id)
			}
		})
	}
	parsing.Wait()
}

// beside returns nil for damage that somebody is told of, and err for any other.
func (c *loaded) beside(col column.Column, key []byte, err error) error {
	if c.report == nil || !errors.Is(err, engine.ErrCorrupt) {
		return err
	}
	return c.report(col, key, err)
}

// addPage adds ops.
func (c *loaded) addPage(p *page) error {
	if p.err != nil {
		return p.err
	}
	bodies := p.bodies
	for i, f := range p.facts {
		op := p.ops[i]
		if op == nil {
			if err := c.beside(p.rows[i].Column, p.rows[i].Key, p.faults[i]); err != nil {
				return err
			}
			continue
		}
		var body *codec.GroupOp
		if op.Clear != nil {
			if body = op.Clear; c.renumbers {
				f.seq = c.nextSeq(op.GroupID)
			}
		} else if f.seq > 0 {
			inner, err := decodeLog(&bodies[0])
			if err == nil {
				body = &inner.Op
			} else if err = c.beside(bodies[0].Column, bodies[0].Key, err); err != nil {
				return err
			}
			bodies = bodies[1:]
		}
		if c.isStray(op) {
			f.fault, body = group.NoGroup, nil
		}
		if _, err := c.add(op, f, body, op.Signed != nil); err != nil {
			if err = c.beside(p.rows[i].Column, p.rows[i].Key, fmt.Errorf("namespace: %w: op %s: %w", engine.ErrCorrupt, f.id, err)); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseRow returns the op of a row that should be there.
func parseRow(row *engine.Lookup, id codec.OpID) (*Op, error) {
	if !row.Found {
		return nil, damaged(row.Key, "op "+id.String()+" is missing")
	}
	v, err := codec.NamespaceGovOpValue{}.Decode(row.Value)
	if err != nil {
		return nil, fmt.Errorf("namespace: %w: op %s: %w", engine.ErrCorrupt, id, err)
	}
	op, err := ParseOp(v.SkeletonBytes)
	if err != nil {
		return nil, fmt.Errorf("namespace: %w: op %s: %w", engine.ErrCorrupt, id, err)
	}
	return op, nil
}

func decodeLog(row *engine.Lookup) (codec.SignedGroupOp, error) {
	if !row.Found {
		return codec.SignedGroupOp{}, damaged(row.Key, "the op of a group is missing in its log")
	}
	v, err := codec.OpLogValue{}.Decode(row.Value)
	if err != nil {
		return codec.SignedGroupOp{}, fmt.Errorf("namespace: %w: %x: %w", engine.ErrCorrupt, row.Key, err)
	}
	inner, err := codec.SignedGroupOp{}.Decode(v.Op)
	if err != nil {
		return inner, fmt.Errorf("namespace: %w: %x: %w", engine.ErrCorrupt, row.Key, err)
	}
	return inner, nil
}

// isStray reports whether an op is about a group that none of its ancestors creates. None
// is taken: those that are stored older versions have taken, and they are void.
func (c *loaded) isStray(op *Op) bool {
	for _, g := range op.groups() {
		if g == c.id {
			continue
		}
		if len(c.holders.created[g]) == 0 {
			return true
		}
		cut, err := c.ledger.Cut(op.Parents)
		if err == nil && !c.holders.isCreated(g, cut) { // else to add it fails, and says why
			return true
		}
	}
	return false
}

// add takes an op into memory.
func (c *loaded) add(op *Op, f fact, body *codec.GroupOp, whole bool) (int, error) {
	i, err := c.ledger.Add(op.asRead(body, f.fault))
	if err != nil {
		return i, err
	}
	judged := len(f.keys) == op.handsOut() && !slices.Contains(f.keys, keyUnjudged)
	if !judged {
		f.keys = make([]keyState, op.handsOut())
	}
	k := c.keyOf(op)
	c.facts = append(c.facts, f)
	c.ops = append(c.ops, visible{op.Version, k.KeyID, op.Rotations, op.Keys, whole})
	if op.Root != nil && op.Root.Kind == codec.RootAuthorityStated {
		c.statements = append(c.statements, i)
	}
	c.holders.take(i, op)
	c.handouts.take(i, op, judged)
	c.sealedUnder(op)
	c.logged(op.GroupID, f.seq, i)
	if op.sealed() && body == nil && f.fault == 0 {
		if whole {
			c.locked[k] = append(c.locked[k], i)
		}
		if op.Version == codec.OpVersion1 {
			c.shut.add(op.GroupID, i)
		}
	}
	return i, nil
}

// merge is the root op of all that join heads. It is never written to.
var merge = codec.RootOp{Kind: codec.RootMerge}

// asRead returns op as the ledger takes it: what it seals, or why it is void for good. It holds
// nothing of what came with it, which is much of a key for many.
func (op *Op) asRead(body *codec.GroupOp, fault group.Reason) *group.Op {
	read := &group.Op{Version: op.Version, ID: op.ID, Parents: op.Parents, Signer: op.Signer, Nonce: op.Nonce, Group: op.GroupID,
		Body: body, Fault: fault, KeyOp: op.KeyOp}
	if op.Clear != nil && fault == 0 {
		clear := *op.Clear
		read.Body = &clear
	}
	switch {
	case op.Root == nil:
	case op.Root.Kind == codec.RootMerge:
		read.Root = &merge
	default:
		root := *op.Root
		read.Root = &root
	}
	for _, k := range op.Keys {
		read.Keys = append(read.Keys, group.Key{Group: k.GroupID, Carries: k.Carried})
	}
	return read
}

// keyOf returns the key under which a sealed op is.
func (c *loaded) keyOf(op *Op) GroupKey {
	k := GroupKey{op.GroupID, op.KeyID}
	if _, own := c.introduces(KeyName{op.GroupID, op.KeyOp}); own != nil {
		k.KeyID = own.KeyID
	}
	return k
}

// logged notes that op i, which is not the first, has that number in the log of g; 0: none.
func (c *loaded) logged(g codec.GroupID, seq uint64, i int) {
	log := c.logs[g]
	for uint64(len(log)) < seq {
		log = append(log, 0)
	}
	if seq > 0 {
		log[seq-1] = int32(i)
		c.logs[g] = log
	}
}

// nextSeq returns the number of the next op in the log of g.
func (c *loaded) nextSeq(g codec.GroupID) uint64 { return uint64(len(c.logs[g])) + 1 }

// loadKeys reads the keys of all groups that this node has.
func (c *loaded) loadKeys(r engine.Reader) error {
	groups := slices.Collect(maps.Keys(c.holders.groups))
	for _, g := range slices.AppendSeq(groups, maps.Keys(c.handouts.introduced)) {
		for e, err := range engine.Scan(r, keys.KeysOf(g)) {
			if err != nil {
				return err
			}
			c.ring[GroupKey{g, e.Key.Key}] = e.Value.Key
		}
	}
	for k, ops := range c.locked { // the process may have ended before all were opened
		if _, has := c.ring[k]; has {
			c.openable = append(c.openable, ops...)
			delete(c.locked, k)
		}
	}
	slices.Sort(c.openable)
	for g, ops := range c.handouts.introduced {
		for _, i := range ops {
			if key, has := c.ring[GroupKey{g, c.keysOf(i, g).KeyID}]; has && *c.state(i, g) == keyGood {
				c.good[KeyName{g, c.ledger.Op(i).ID}] = key
			}
		}
	}
	return nil
}
