package namespace

import (
	"maps"

	"github.com/stoadb/stoa/codec"
)

// holdings is the reference of who holds which key: it returns who holds which key, by what is clear of ops: the signer of its
// rotation, the recipients of that and of deliveries, and whoever holds a key that
// follows it, for that opens those before.
func holdings(ops []*Op) map[GroupKey]map[codec.Identity]bool {
	held := map[GroupKey]map[codec.Identity]bool{}
	give := func(k GroupKey, ids ...codec.Identity) {
		if held[k] == nil {
			held[k] = map[codec.Identity]bool{}
		}
		for _, id := range ids {
			held[k][id] = true
		}
	}
	for _, op := range ops {
		for _, r := range op.Rotations {
			k := GroupKey{r.GroupID, r.NewKeyID}
			give(k, op.Signer)
			give(k, r.Recipients...)
		}
		if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivery {
			give(GroupKey{r.GroupID, r.KeyID}, recipients(r.Envelopes)...)
		}
	}
	for more := true; more; {
		more = false
		for _, op := range ops {
			for _, r := range op.Rotations {
				if !r.Previous.Valid {
					continue
				}
				before := GroupKey{r.GroupID, r.Previous.V}
				give(before)
				n := len(held[before])
				maps.Copy(held[before], held[GroupKey{r.GroupID, r.NewKeyID}])
				more = more || len(held[before]) > n
			}
		}
	}
	return held
}
