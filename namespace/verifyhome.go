package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

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
