package view

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// governance is what the ops of a source amount to, behind damage: verdicts, names, and
// the ops in clear that keys have opened, which are in the logs of their groups. It reads
// no secrets, so that it is the same for who may and who may not. It is safe for
// concurrent use.
type governance struct {
	ops *namespace.Store
	r   engine.Reader

	mu    sync.Mutex
	lost  gaps // met so far
	named map[codec.GroupID]*named
}

// named is what groups, members and contexts of a namespace are called. Nobody may change it.
type named struct {
	list []namespace.Name
	by   map[string]string // names by ids in hex: with what tells namesakes apart
}

// shownDigits is how many digits of an id tell it apart where a name is shown.
const shownDigits = 8

// governanceOf returns the governance of src, which must outlive it.
func governanceOf(src *inspect.Source) (*governance, error) {
	g := &governance{named: map[codec.GroupID]*named{}}
	g.r = withoutSecrets{src.Lenient(g.tell)}
	var err error
	g.ops, err = namespace.View(g.r, namespace.Options{Damaged: func(col column.Column, key []byte, err error) error {
		return g.tell(inspect.NewFinding("unreadable", col, key, err.Error()))
	}})
	return g, err
}

func (g *governance) tell(f inspect.Finding) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost.tell(f)
}

// gaps returns what could not be read so far.
func (g *governance) gaps() gaps {
	g.mu.Lock()
	defer g.mu.Unlock()
	return gaps{g.lost.Left, append([]inspect.Finding(nil), g.lost.Places...)}
}

// names returns the names of a namespace by ids in hex; none where it is not here. Nobody
// may change them.
func (g *governance) names(ns codec.GroupID) (map[string]string, error) {
	n, err := g.namesOf(ns)
	return n.by, err
}

// namesOf returns the names of a namespace; none where it is not here.
func (g *governance) namesOf(ns codec.GroupID) (*named, error) {
	g.mu.Lock()
	known := g.named[ns]
	g.mu.Unlock()
	if known != nil {
		return known, nil
	}
	list, err := g.ops.Names(ns, namespace.Name{}, 0)
	if err != nil && !errors.Is(err, namespace.ErrNoGroup) {
		return &named{}, err
	}
	bearers := map[namespace.Name]int{}
	for _, n := range list {
		bearers[namespace.Name{Of: n.Of, Name: n.Name}]++
	}
	found := &named{list: list, by: make(map[string]string, len(list))}
	for _, n := range list {
		id, shown := hex.EncodeToString(n.ID[:]), string(n.Name)
		if n.Former {
			shown += " (removed)"
		}
		if bearers[namespace.Name{Of: n.Of, Name: n.Name}] > 1 {
			shown += " (" + id[:shownDigits] + ")"
		}
		found.by[id] = shown
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.named[ns] = found
	return found, nil
}

// eachName calls visit with the names of all namespaces, until it returns false.
func (g *governance) eachName(ctx context.Context, visit func(n namespace.Name, id, shown string) bool) error {
	spaces, err := g.ops.Namespaces(codec.GroupID{}, 0)
	if passable(err) != nil {
		return err
	}
	for _, ns := range spaces {
		n, err := g.namesOf(ns)
		if err == nil {
			err = ctx.Err()
		}
		if passable(err) != nil {
			return err
		}
		for _, one := range n.list {
			if id := hex.EncodeToString(one.ID[:]); !visit(one, id, n.by[id]) {
				return nil
			}
		}
	}
	return nil
}

// member returns the name of a member of a group, and the group that has given it: the
// group itself, else the nearest above it, else any other of the namespace, of which from
// is zero. It is empty where there is none.
func (g *governance) member(of codec.GroupID, who codec.Identity) (name string, from codec.GroupID, err error) {
	root, seen := of, map[codec.GroupID]bool{}
	for at := of; !seen[at]; {
		seen[at], root = true, at
		name, err := alias(g.r, keys.GroupMemberAlias{Group: at, Identity: who})
		if err == nil {
			return name, at, nil
		}
		if passable(err) != nil {
			return "", from, err
		}
		parent, err := engine.Get(g.r, keys.GroupParentRef{Child: at})
		if errors.Is(err, engine.ErrNotFound) {
			break
		}
		if err != nil {
			return "", from, err
		}
		at = parent.ParentID
	}
	named, err := g.names(root)
	return named[who.String()], from, err
}

// withoutSecrets reads a store as if there were no secrets in it, which it does not ask
// for: they may be sealed, or a daemon may keep them to itself.
type withoutSecrets struct{ engine.Reader }

// Get appends the value of a key to dst; see [engine.Getter].
func (w withoutSecrets) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if keys.Secret(col, key) {
		return dst, engine.ErrNotFound
	}
	return w.Reader.Get(dst, col, key)
}

// Iterate is engine.Reader's. A range that begins with secrets has no rows.
func (w withoutSecrets) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	if keys.Secret(col, rg.Start) {
		return engine.NewIterator(noRows{}, 0), nil
	}
	return w.Reader.Iterate(col, rg)
}

// noRows is a range without rows.
type noRows struct{}

// Page appends the next entries to dst; see [engine.Pager].
func (noRows) Page(dst []byte, _, _ int) ([]byte, int, error) { return dst, 0, nil }

// Close gives back what the pager holds; see [engine.Pager].
func (noRows) Close() error { return nil }
