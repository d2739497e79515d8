package namespace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// The group and the counters of a context (0x23, Config) are one row each, whichever
// namespaces have the context. So each namespace writes its claim, and the rows are what
// group.Home makes of the claims of all, whichever came first:
//
//	gov-home ‖ context 32 ‖ namespace 32  →  group 32 ‖ number u64 ‖ application u64 ‖ members u64
//
// The row of zeros says that the claims of all namespaces are there: a store that was
// written without them gets them before anything else is written, the first of what refold
// writes among it.
const claimSize = 32 + 3*8

func claimKey(c codec.ContextID, ns codec.GroupID) []byte {
	return append(append(append(make([]byte, 0, 80), homeScope[:]...), c[:]...), ns[:]...)
}

func appendClaim(dst []byte, v group.Claim) []byte {
	dst = binary.LittleEndian.AppendUint64(append(dst, v.Group[:]...), v.Number)
	dst = binary.LittleEndian.AppendUint64(dst, v.Config.ApplicationRevision)
	return binary.LittleEndian.AppendUint64(dst, v.Config.MembersRevision)
}

func parseClaim(key, value []byte) (c codec.ContextID, ns codec.GroupID, v group.Claim, err error) {
	if len(key) != 16+32+32 || len(value) != claimSize {
		return c, ns, v, damaged(key, fmt.Sprintf("%d bytes under %d, instead of %d under 80", len(value), len(key), claimSize))
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(value[at:]) }
	v = group.Claim{Group: codec.GroupID(value), Number: u64(32), Config: codec.ContextConfigValue{ApplicationRevision: u64(40), MembersRevision: u64(48)}}
	return codec.ContextID(key[16:]), codec.GroupID(key[48:]), v, nil
}

// Claims returns the claims of all namespaces on a context, in no order. Which of them
// counts is for [group.Home] to say. It returns engine.ErrCorrupt for a row that is none.
func Claims(r engine.Reader, c codec.ContextID) ([]group.Claim, error) {
	all, err := claimsOn(r, c)
	return slices.Collect(maps.Values(all)), err
}

// claims are who has a context, by namespace.
type claims map[codec.GroupID]group.Claim

// home returns which of them counts.
func (all claims) home() (group.Claim, bool) {
	return group.Home(slices.Collect(maps.Values(all)))
}

// claimsOn returns the claims on a context.
func claimsOn(r engine.Reader, c codec.ContextID) (claims, error) {
	all := claims{}
	return all, each(r, append(append([]byte(nil), homeScope[:]...), c[:]...), func(key, value []byte) error {
		_, ns, v, err := parseClaim(key, value)
		if err == nil && !ns.IsZero() {
			all[ns] = v
		}
		return err
	})
}

// concerns returns the context whose group or counters a row says.
func concerns(r *group.RowChange) (c codec.ContextID, ok bool) {
	if r.Column == column.Config {
		return codec.ContextID(r.Key), true
	}
	if k, err := (keys.ContextGroupRef{}).Parse(r.Key); err == nil {
		return k.Context, true
	}
	return c, false
}

// claim puts into the batch what the namespace says of the contexts that it touches, and
// what that makes of their groups and counters. Until the batch is written nobody else may
// write claims.
func (b *batch) claim() error {
	for c := range b.homes {
		all, err := claimsOn(b.s.db, c)
		if err != nil {
			return err
		}
		old, had := all[b.c.id]
		now, has := b.c.ledger.Claim(c)
		if had == has && old == now && !b.anew {
			continue
		}
		was, held := all.home()
		if has {
			all[b.c.id] = now
			b.rows.Put(column.Generic, claimKey(c, b.c.id), appendClaim(nil, now))
		} else {
			delete(all, b.c.id)
			b.rows.Delete(column.Generic, claimKey(c, b.c.id))
		}
		if home, ok := all.home(); ok != held || home != was || b.anew {
			putHome(&b.rows, c, home, ok)
		}
	}
	return nil
}

// putHome writes the group and the counters of a context, which has none if ok is false.
func putHome(b *engine.Batch, c codec.ContextID, home group.Claim, ok bool) {
	ref, config := keys.ContextGroupRef{Context: c}, keys.ContextConfig{Context: c}
	if !ok {
		engine.Delete(b, ref)
		engine.Delete(b, config)
		return
	}
	engine.Put(b, ref, codec.GroupRefValue{GroupID: home.Group})
	engine.Put(b, config, home.Config)
}

// claimAll sees to it that the claims of all namespaces are there, in a store that has been
// written without as well.
func (b *batch) claimAll() error {
	if b.s.claimed.Load() {
		return nil
	}
	has, err := hasClaims(b.s.db)
	if err != nil || has {
		return err
	}
	if err := b.s.writeClaims(); err != nil {
		return err
	}
	b.rows.Put(column.Generic, claimKey(codec.ContextID{}, codec.GroupID{}), make([]byte, claimSize))
	return nil
}

// writeClaims writes the claims of all namespaces as they are stored, and what they make of
// the groups of contexts.
func (s *Store) writeClaims() error {
	r, err := s.db.Snapshot()
	if err != nil {
		return err
	}
	defer r.Close()
	var b engine.Batch
	found := map[codec.ContextID]claims{}
	for e, err := range engine.Scan(r, keys.Prefix[keys.NamespaceGovHead]{}) {
		if err != nil {
			return err
		}
		c, _, err := fold(r, e.Key.Namespace, nil)
		if err != nil {
			return err
		}
		for id, v := range c.ledger.Claims() {
			if found[id] == nil {
				found[id] = claims{}
			}
			found[id][c.id] = v
			b.Put(column.Generic, claimKey(id, c.id), appendClaim(nil, v))
			if b.Size() < fullBytes {
				continue
			}
			if err := s.db.Apply(&b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	for id, all := range found {
		if len(all) > 1 {
			home, ok := all.home()
			putHome(&b, id, home, ok)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return s.db.Apply(&b)
}

// hasClaims reports whether the claims of all namespaces are in the store.
func hasClaims(r engine.Getter) (bool, error) {
	_, err := r.Get(nil, column.Generic, claimKey(codec.ContextID{}, codec.GroupID{}))
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// compareHomes looks at the claims of the namespace on contexts, and at the counters of
// those whose group is one of it; of want it takes the groups of contexts that by the claims
// of all namespaces are not here. A store that was written without claims has them as soon
// as something is written.
func (v *verifying) compareHomes(want wanted) error {
	has, err := hasClaims(v.s.db)
	if err != nil || !has {
		return err
	}
	stored := map[codec.ContextID]claims{}
	err = each(v.s.db, homeScope[:], func(key, value []byte) error {
		c, ns, claim, err := parseClaim(key, value)
		if err != nil || ns.IsZero() {
			return err
		}
		if stored[c] == nil {
			stored[c] = claims{}
		}
		stored[c][ns] = claim
		if ns != v.c.id {
			return nil
		}
		switch due, ok := v.again.ledger.Claim(c); {
		case !ok:
			v.find(column.Generic, slices.Clone(key), "it should not be there")
		case due != claim:
			v.find(column.Generic, slices.Clone(key), "it is %v, and should be %v", claim, due)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for c, due := range v.again.ledger.Claims() {
		all := stored[c]
		if all == nil {
			all = claims{}
		}
		if _, ok := all[v.c.id]; !ok {
			v.find(column.Generic, claimKey(c, v.c.id), "it is missing")
		}
		all[v.c.id] = due
		if err := v.compareHome(want, c, due, all); err != nil {
			return err
		}
	}
	return nil
}

// compareHome is compareHomes for one context that a group of the namespace has.
func (v *verifying) compareHome(want wanted, c codec.ContextID, due group.Claim, all claims) error {
	if home, ok := all.home(); !ok || home != due {
		key, err := keys.ContextGroupRef{Context: c}.AppendBinary(nil)
		delete(want, string(key))
		return err
	}
	config, ok, err := optional(v.s.db, keys.ContextConfig{Context: c})
	if err != nil {
		return err
	}
	if !ok || config != due.Config {
		v.find(column.Config, c[:], "it is %+v, and should be %+v", config, due.Config)
	}
	return nil
}
