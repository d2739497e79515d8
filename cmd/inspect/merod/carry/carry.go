// Package carry takes over to a new store of stoa what that can hold of the database of a merod.
//
// What a store can't hold is what merod has signed over bytes of its own: governance, and the deltas
// of contexts. Their rows, and whatever else is left behind, are told of one by one.
package carry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// Options say what Carry takes over.
type Options struct {
	// Node is the node of the store.
	Node codec.NodeID
	// Blobs is the directory of the content of blobs, as merod has it beside its database; "": there
	// is none, so that no blob can be taken over.
	Blobs string
	// Spool is a directory for content on its way.
	Spool string
	// Identities are the public keys of this node that contexts get whose database has private keys
	// of several. A context with several of which not exactly one is among these is a Several.
	Identities []codec.Identity
	// NoIdentities leaves all of them behind.
	NoIdentities bool
	// Left is told of each row that is left behind, explained and without its secrets, and why.
	Left func(merod.Row, string) error
	// BlobID is told of the id that a blob of merod has here; nil: nobody is.
	BlobID func(merod, stoa codec.BlobID) error
	// Progress is told how many rows more were looked at; nil: nobody is.
	Progress func(rows uint64)
}

// Carried is what Carry has taken over.
type Carried struct {
	Blobs        uint64 `json:"blobs"`
	Applications uint64 `json:"applications"`
	Contexts     uint64 `json:"contexts"`
	State        uint64 `json:"state_rows"`
	Private      uint64 `json:"private_state_rows"`
	Identities   uint64 `json:"identities"`
	Aliases      uint64 `json:"aliases"`
	Generic      uint64 `json:"generic_rows"`
	// Left are the rows that were left behind, by what they are and why.
	Left []Left `json:"left"`
}

// Left is rows that were left behind for the same reason.
type Left struct {
	Column string `json:"column"`
	Type   string `json:"type,omitempty"` // empty: it is not known
	Reason string `json:"reason"`
	Rows   uint64 `json:"rows"`
}

// Why rows are left behind.
const (
	whySigned  = "its ops are signed over other bytes: make groups anew, and let their members join"
	whyDelta   = "its actions and its id are of another kind: the context begins with the state that they have made"
	whyLocal   = "what merod keeps for its own work"
	whyUnknown = "it is not explained"
)

// Unclear returns a Several if not all contexts have one identity that they get with these
// options. It writes nothing.
func Unclear(ctx context.Context, from *merod.Database, o Options) error {
	o.Left = func(merod.Row, string) error { return nil }
	c := &carrier{ctx: ctx, from: from, o: o, out: new(Carried)}
	return c.identities()
}

// Carry writes to a store, in which nothing is yet. It returns what it has taken over; an error leaves a
// part of that in the store. Its memory is that of the ids of blobs and applications, and of
// about 100 bytes for each row of the state of one context.
func Carry(ctx context.Context, from *merod.Database, to engine.Engine, o Options) (_ *Carried, err error) {
	c := &carrier{ctx: ctx, from: from, to: to, o: o, out: &Carried{Left: []Left{}}, blobIDs: map[codec.BlobID]codec.BlobID{}}
	c.applications = map[codec.ApplicationID]codec.ApplicationMeta{}
	if err := c.identities(); err != nil {
		return nil, err
	}
	if err := c.blobs(); err != nil {
		return nil, err
	}
	steps := []func() error{c.apps, c.contexts, c.private, c.aliases, c.generic, c.rest}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// carrier is one Carry under way.
type carrier struct {
	ctx  context.Context
	from *merod.Database
	to   engine.Engine
	o    Options
	out  *Carried

	blobIDs      map[codec.BlobID]codec.BlobID // of merod → of stoa
	applications map[codec.ApplicationID]codec.ApplicationMeta
	chosen       map[codec.ContextID]codec.ContextIdentityValue
	there        map[codec.ContextID]bool
	looked       uint64
}

// each calls visit with the rows of a family that begin with prefix.
func (c *carrier) each(family string, prefix []byte, visit func(row diskfile.Row) error) error {
	if !slices.Contains(c.from.Families(), family) {
		return nil
	}
	for row, err := range c.from.Rows(family, engine.Prefixed(prefix)) {
		if err == nil {
			err = c.ctx.Err()
		}
		if err == nil {
			c.step()
			err = visit(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step counts a row that was looked at.
func (c *carrier) step() {
	if c.looked++; c.o.Progress != nil && c.looked%1000 == 0 {
		c.o.Progress(1000)
	}
}

// decode reads what a row says into a document with the names of the layouts. What is not
// explained is left behind.
func (c *carrier) decode(family string, row diskfile.Row, doc any) (ok bool, err error) {
	ok, err = c.explained(family, row, doc)
	if !ok && err == nil {
		err = c.leave(family, row, whyUnknown)
	}
	return ok, err
}

// leave leaves a row behind.
func (c *carrier) leave(family string, row diskfile.Row, why string) error {
	r := merod.Explain(family, row.Key, row.Value)
	i := slices.IndexFunc(c.out.Left, func(l Left) bool { return l.Column == family && l.Type == r.Type && l.Reason == why })
	if i < 0 {
		c.out.Left = append(c.out.Left, Left{Column: family, Type: r.Type, Reason: why})
		i = len(c.out.Left) - 1
	}
	c.out.Left[i].Rows++
	return c.o.Left(r, why)
}

// apply writes a batch that is full, or is the last one.
func (c *carrier) apply(b *engine.Batch, last bool) error {
	if b.Len() == 0 || !last && b.Size() < 4<<20 && b.Len() < 10_000 {
		return nil
	}
	err := c.to.Apply(b)
	b.Reset()
	return err
}

// rest leaves behind what no other step has looked at.
func (c *carrier) rest() error {
	for _, family := range c.from.Families() {
		why := whyLocal
		switch family {
		case "Meta", "Config", "Identity", "State", "PrivateState", "Blobs", "Application", "Alias", "Generic":
			continue
		case "Group":
			why = whySigned
		case "Delta", "AbsorbBuffer", "UnifiedOp":
			why = whyDelta
		}
		err := c.each(family, nil, func(row diskfile.Row) error {
			if name, _ := merod.Kind(family, row.Key, row.Value); name == "" {
				return c.leave(family, row, whyUnknown)
			}
			return c.leave(family, row, why)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// opened runs a step with the blobs and the contexts of the store, and closes them.
func opened[S interface{ Close() error }](open func() (S, error), step func(S) error) error {
	s, err := open()
	if err != nil {
		return err
	}
	err = step(s)
	if closing := s.Close(); err == nil {
		err = closing
	}
	return err
}

func (c *carrier) openBlobs() (*blob.Store, error) {
	return blob.Open(c.to, blob.Options{SpoolDir: c.o.Spool})
}

func (c *carrier) openContexts() (*dag.Store, error) {
	return dag.Open(c.to, dag.Options{Node: c.o.Node})
}

// Several is the error of contexts whose database has private keys of several identities, of which not
// exactly one was chosen: nothing was written.
type Several []codec.ContextID

// Error says which.
func (s Several) Error() string {
	ids := make([]string, 0, 3)
	for _, id := range s[:min(len(s), 3)] {
		ids = append(ids, id.String())
	}
	return fmt.Sprintf("contexts have private keys of several identities, of which one is to be chosen: %d, such as %s", len(s), strings.Join(ids, ", "))
}
