package view

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace/content"
)

// The kinds of nodes in the graph of a context.
const (
	kindApplied = "applied"
	kindPending = "pending" // it waits for others
	kindMissing = "missing" // others wait for it
	kindBase    = "base"    // what a snapshot began with, of which there is no delta
	kindAside   = "aside"   // its author may not write any more, and nobody who may has built on it
	kindDamaged = "damaged"
)

// How many nodes a graph has.
const (
	usualNodes = 200
	mostNodes  = 20_000
)

// orderScope and pendingScope are what dag keeps of the order of application, and
// of what waits.
const (
	orderScope   = "dag-order"
	pendingScope = "dag-pending"
)

// deltas answers the graph of the newest deltas of a context: those applied before
// the place that before names, or, without it, the newest of all and those that
// wait; with id, of the delta that it names and of those applied next after and before it.
func (s *Server) deltas(r *http.Request) (any, error) {
	id, err := idOf(r, "context")
	if err != nil {
		return nil, err
	}
	limit, err := limitOf(r, usualNodes, mostNodes)
	if err != nil {
		return nil, err
	}
	before := uint64(0)
	if text := r.URL.Query().Get("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil || before == 0 {
			return nil, bad("before: %q is no place in the order", text)
		}
	}
	var g Graph
	err = s.store.governed(func(src *inspect.Source, rules *governance) (err error) {
		c := contextGraph{store: src, rules: rules, context: id, known: map[codec.DeltaID]bool{}}
		c.rows = src.AsIs(c.tell)
		if err := c.findGroup(); err != nil {
			return err
		}
		if r.URL.Query().Get("id") != "" {
			delta, err := idOf(r, "id")
			if err != nil {
				return err
			}
			if before, err = c.behind(delta, limit); err != nil {
				return err
			}
		}
		g, err = c.graph(before, limit)
		g.gaps = c.gaps
		return err
	})
	return g, err
}

// contextGraph gathers the nodes of a context.
type contextGraph struct {
	store   engine.Reader // where damage is an error
	rows    engine.Reader // that goes on behind it
	context codec.ContextID
	rules   *governance
	group   codec.GroupID // which has the context; zeros: none
	heads   []codec.DeltaID
	nodes   []Node
	known   map[codec.DeltaID]bool // those in nodes
	gaps
}

func (c *contextGraph) graph(before uint64, limit int) (Graph, error) {
	meta, err := engine.Get(c.store, keys.ContextMeta{Context: c.context})
	if errors.Is(err, engine.ErrCorrupt) { // which deltas are heads is not known
		c.lose("value", column.Meta, c.context[:], err)
		err = nil
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return Graph{}, err
	}
	if c.heads, err = dag.HeadsOf(c.store, c.context, meta.DagHeads); err != nil {
		return Graph{}, err
	}
	if before == 0 {
		if err := errors.Join(c.aside(), c.pending(limit)); err != nil {
			return Graph{}, err
		}
	}
	oldest, err := c.applied(before, limit)
	if err == nil && oldest == 0 && before == 0 {
		err = c.unordered(limit)
	}
	if err != nil {
		return Graph{}, err
	}
	g := Draw(c.nodes)
	if oldest > 1 {
		g.More = strconv.FormatUint(oldest, 10)
	}
	return g, nil
}

// findGroup finds the group that has the context, of which signers are members.
func (c *contextGraph) findGroup() error {
	ref, err := engine.Get(c.store, keys.ContextGroupRef{Context: c.context})
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case errors.Is(err, engine.ErrCorrupt):
		c.lose("value", column.Group, c.context[:], err)
		return nil
	}
	c.group = ref.GroupID
	return err
}

// signed has a node say who has signed it.
func (c *contextGraph) signed(n *Node, who codec.Identity) error {
	n.By = who.String()
	if c.group.IsZero() {
		return nil
	}
	var err error
	n.Name, _, err = c.rules.member(c.group, who)
	return err
}

// aside adds what is set aside.
func (c *contextGraph) aside() error {
	list, err := content.HeldIn(c.rows, c.context)
	if errors.Is(err, engine.ErrCorrupt) {
		c.lose("value", column.Generic, c.context[:], err)
		err = nil
	}
	if err != nil {
		return err
	}
	byID := map[codec.EnvelopeID]codec.DeltaID{}
	for _, h := range list {
		byID[h.ID] = h.Delta
	}
	for _, h := range slices.Backward(list) {
		n := Node{Kind: kindAside, Label: "set aside", Time: hlc.NTP64(h.Time).Time().UTC().Format(time.RFC3339Nano)}
		if err := c.signed(&n, h.Author); err != nil {
			return err
		}
		for _, p := range h.Parents {
			delta, known := byID[p]
			if !known {
				if delta, known, err = content.DeltaOf(c.store, c.context, p); err != nil && !errors.Is(err, engine.ErrCorrupt) {
					return err
				}
			}
			if known {
				n.Parents = append(n.Parents, delta.String())
			}
		}
		c.keep(h.Delta, n)
	}
	return nil
}

// place returns the leading bytes of the rows of a scope that are of the context.
func (c *contextGraph) place(scope string, kind ...byte) ([]byte, error) {
	s, err := keys.NewScope(scope)
	return append(append(s[:], kind...), c.context[:]...), err
}

// order calls visit with the rows of the order of application, the newest first: those before a
// place (0: all) and at most limit (0: all), until it returns false. Of each at is the place, if
// the row is one of the order.
func (c *contextGraph) order(before uint64, limit int, visit func(key, at, value []byte) (more bool, err error)) error {
	prefix, err := c.place(orderScope)
	if err != nil {
		return err
	}
	rg := engine.Prefixed(prefix)
	rg.Reverse, rg.Limit = true, limit
	if before > 0 {
		rg.End = binary.BigEndian.AppendUint64(slices.Clone(prefix), before)
	}
	it, err := c.rows.Iterate(column.Generic, rg)
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	for it.Next() {
		if more, err := visit(it.Key(), it.Key()[len(prefix):], it.Value()); err != nil || !more {
			return err
		}
	}
	return it.Err()
}

// applied adds the newest deltas before a place in the order of application, and
// returns the place of the oldest of them; 0: there are none.
func (c *contextGraph) applied(before uint64, limit int) (oldest uint64, err error) {
	err = c.order(before, limit, func(key, at, value []byte) (bool, error) {
		if len(at) != 8 || len(value) < len(codec.DeltaID{}) {
			c.lose("value", column.Generic, key, fmt.Errorf("it is no row of %s", orderScope))
			return true, nil
		}
		oldest = binary.BigEndian.Uint64(at)
		if dag.Withdrawn(value) {
			return true, nil
		}
		return true, c.add(codec.DeltaID(value), kindBase)
	})
	return oldest, err
}

// behind returns the place in the order of application that a graph of so many nodes begins
// before, to have a delta in it; 0: it begins with the newest, which one that waits, or is not
// there, is next to.
func (c *contextGraph) behind(id codec.DeltaID, limit int) (before uint64, err error) {
	newest := uint64(0)
	err = c.order(0, 0, func(_, at, value []byte) (bool, error) {
		if len(at) != 8 {
			return true, nil // applied says so
		}
		place := binary.BigEndian.Uint64(at)
		newest = max(newest, place)
		if !bytes.HasPrefix(value, id[:]) {
			return true, nil
		}
		if newest-place >= uint64(limit) {
			before = place + uint64(limit)/2
		}
		return false, nil
	})
	return before, err
}

// pending adds deltas that wait, and those that they wait for.
func (c *contextGraph) pending(limit int) error {
	for _, kind := range []struct {
		of     byte
		absent string // what a delta is that is not there
	}{{'a', kindDamaged}, {'m', kindMissing}} {
		prefix, err := c.place(pendingScope, kind.of)
		if err != nil {
			return err
		}
		rg := engine.Prefixed(prefix)
		rg.Limit = limit
		it, err := c.rows.Iterate(column.Generic, rg)
		if err != nil {
			return err
		}
		for it.Next() && err == nil {
			id := it.Value()
			if kind.of == 'm' {
				id = it.Key()[len(prefix):]
			}
			if len(id) < len(codec.DeltaID{}) {
				c.lose("value", column.Generic, it.Key(), fmt.Errorf("it is no row of %s", pendingScope))
				continue
			}
			err = c.add(codec.DeltaID(id), kind.absent)
		}
		if err = errors.Join(err, it.Err(), it.Close()); err != nil {
			return err
		}
	}
	return nil
}

// unordered adds the deltas of a context that has no order: rows that something
// else than dag has written.
func (c *contextGraph) unordered(limit int) error {
	it, err := c.rows.Iterate(column.Delta, engine.Prefixed(c.context[:]))
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	for len(c.nodes) < limit && it.Next() {
		k, err := keys.ContextDagDelta{}.Parse(it.Key())
		if err != nil {
			c.lose("key", column.Delta, it.Key(), err)
			continue
		}
		if c.known[k.Delta] {
			continue
		}
		d, err := codec.ContextDagDeltaValue{}.Decode(it.Value())
		if err != nil {
			c.keep(k.Delta, Node{Kind: kindDamaged, Label: err.Error()})
			continue
		}
		if err := c.put(k.Delta, d); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	slices.SortStableFunc(c.nodes, func(a, b Node) int { return cmp.Compare(b.Time, a.Time) })
	return nil
}

// add adds a delta by its id; one that is not there is of the kind absent.
func (c *contextGraph) add(id codec.DeltaID, absent string) error {
	if c.known[id] {
		return nil
	}
	d, err := engine.Get(c.store, keys.ContextDagDelta{Context: c.context, Delta: id})
	switch {
	case err == nil:
		return c.put(id, d)
	case errors.Is(err, engine.ErrNotFound):
		c.keep(id, Node{Kind: absent, Label: absent})
		return nil
	case errors.Is(err, engine.ErrCorrupt):
		c.keep(id, Node{Kind: kindDamaged, Label: err.Error()})
		return nil
	}
	return err
}

func (c *contextGraph) put(id codec.DeltaID, d codec.ContextDagDeltaValue) error {
	n := Node{Kind: kindApplied, Label: done(&d), By: d.HLC.ID.Hex(),
		Time: hlc.NTP64(d.HLC.Time).Time().UTC().Format(time.RFC3339Nano), Column: column.Delta.String(),
		At: hex.EncodeToString(append(c.context[:], id[:]...))}
	if !d.Applied {
		n.Kind = kindPending
	}
	for _, p := range d.Parents {
		n.Parents = append(n.Parents, p.String())
	}
	who, signed, err := content.AuthorOf(c.store, c.context, id)
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		c.lose("value", column.Generic, id[:], err)
	case err != nil:
		return err
	case signed:
		if err := c.signed(&n, who); err != nil {
			return err
		}
	}
	c.keep(id, n)
	return nil
}

// fewNames is how many keys and events of a delta are named.
const fewNames = 3

// done says what a delta does: which keys it puts and deletes, and what it tells.
func done(d *codec.ContextDagDeltaValue) string {
	var put, deleted, events []string
	for _, a := range d.Actions {
		if a.Kind == codec.ActionPut {
			put = append(put, printed(a.Key))
		} else {
			deleted = append(deleted, printed(a.Key))
		}
	}
	for _, e := range d.Events {
		events = append(events, e.Kind)
	}
	var parts []string
	for _, of := range []struct {
		what  string
		names []string
	}{{"put ", put}, {"delete ", deleted}, {"event ", events}} {
		if len(of.names) == 0 {
			continue
		}
		part := of.what + strings.Join(of.names[:min(len(of.names), fewNames)], ", ")
		if more := len(of.names) - fewNames; more > 0 {
			part += " and " + strconv.Itoa(more) + " more"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// printed returns a key of a contract as text, if it is some, else in hex; a long one is cut.
func printed(key []byte) string {
	text := string(key)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = hex.EncodeToString(key)
	}
	if r := []rune(text); len(r) > longText {
		text = string(r[:longText]) + "…"
	}
	return cmp.Or(text, "(empty)")
}

func (c *contextGraph) keep(id codec.DeltaID, n Node) {
	n.ID, n.Head = id.String(), slices.Contains(c.heads, id)
	if n.Parents == nil {
		n.Parents = []string{}
	}
	c.known[id] = true
	c.nodes = append(c.nodes, n)
}

// counted returns n with what it counts.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
