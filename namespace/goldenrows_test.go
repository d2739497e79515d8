package namespace_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// wantRows returns the rows of the case with the ids that things have here, and with what
// the ops add that the case has not; without those of a group whose only op is refused.
func (s *stage) wantRows(t *testing.T) map[string]string {
	want := map[string]string{}
	for k, v := range s.file.Rows {
		key, value := row(t, k, v)
		require.Equal(t, 1, len(key)%32, "%x", key)
		if g := codec.GroupID(key[1:33]); (key[0] == 0x2C || key[0] == 0x31) && !s.taken(g) {
			continue
		}
		value = s.wantValue(t, key, value)
		for at := 1; at < len(key); at += 32 {
			id := here(s, [32]byte(key[at:]))
			copy(key[at:], id[:])
		}
		want[string(key)] = string(value)
	}
	for _, sent := range s.sent {
		for _, op := range sent {
			if op.Root == nil {
				s.addSent(t, want, op)
			}
		}
	}
	return want
}

// taken reports whether an op of a group of the case was taken.
func (s *stage) taken(g codec.GroupID) bool {
	return slices.ContainsFunc(s.file.Ops, func(o goldenOp) bool { return o.Body != nil && o.Group == g && s.ops[o.ID] != nil })
}

// wantValue returns the value of a row of the case as it is here.
func (s *stage) wantValue(t *testing.T, key, value []byte) []byte {
	switch key[0] {
	case 0x20:
		v, err := codec.GroupMetaValue{}.Decode(value)
		require.NoError(t, err)
		v.AdminIdentity = here(s, v.AdminIdentity)
		return encoded(t, v)
	case 0x23, 0x32, 0x36:
		id := here(s, [32]byte(value))
		return id[:]
	case 0x24:
		v, err := codec.GroupUpgradeValue{}.Decode(value)
		require.NoError(t, err)
		v.InitiatedBy = here(s, v.InitiatedBy)
		return encoded(t, v)
	case 0x2C:
		v, err := codec.Nonce(0).Decode(value)
		require.NoError(t, err)
		return encoded(t, codec.Nonce(s.nonce(t, codec.Identity(key[33:]), uint64(v))))
	case 0x31:
		v, err := codec.GroupOpHeadValue{}.Decode(value)
		require.NoError(t, err)
		sent := s.sentIn(here(s, codec.GroupID(key[1:])))
		v.Sequence += uint64(len(sent))
		v.DagHeads = s.headsHere(v.DagHeads, sent)
		return encoded(t, v)
	case 0x39:
		v, err := codec.NamespaceGovHeadValue{}.Decode(value)
		require.NoError(t, err)
		v.DagHeads = s.headsHere(v.DagHeads, slices.Concat(slices.Collect(maps.Values(s.sent))...))
		return encoded(t, v)
	default:
		return value
	}
}

// nonce returns the nonce that somebody's op of the case has here: one more for each op
// before it that sends keys.
func (s *stage) nonce(t *testing.T, signer codec.Identity, nonce uint64) uint64 {
	for _, o := range s.file.Ops {
		if op := s.ops[o.ID]; op != nil && o.Signer == signer && o.Nonce == nonce {
			return op.Nonce
		}
	}
	require.Fail(t, "no op has that nonce", "%s: %d", signer, nonce)
	return 0
}

// sentIn returns the ops of a group that the case has not.
func (s *stage) sentIn(g codec.GroupID) (found []*namespace.Op) {
	for _, sent := range s.sent {
		for _, op := range sent {
			if op.Root == nil && op.GroupID == g {
				found = append(found, op)
			}
		}
	}
	return found
}

// addSent adds what an op that the case has not adds to the nonces and heads of its group.
func (s *stage) addSent(t *testing.T, want map[string]string, op *namespace.Op) {
	key := encoded(t, keys.GroupLocalGovNonce{Group: op.GroupID, Signer: op.Signer})
	last, _ := codec.Nonce(0).Decode([]byte(want[string(key)]))
	want[string(key)] = string(encoded(t, codec.Nonce(max(uint64(last), op.Nonce))))
	if key := encoded(t, keys.GroupOpHead{Group: op.GroupID}); want[string(key)] == "" {
		sent := s.sentIn(op.GroupID)
		want[string(key)] = string(encoded(t, codec.GroupOpHeadValue{Sequence: uint64(len(sent)), DagHeads: s.headsHere(nil, sent)}))
	}
}

// headsHere returns the heads of the case as they are here: where one is refused those
// before it, and those that the case has not.
func (s *stage) headsHere(heads []codec.OpID, sent []*namespace.Op) (ids []codec.OpID) {
	all := map[codec.OpID]*namespace.Op{}
	var add func(id codec.OpID)
	add = func(id codec.OpID) {
		if op := s.ops[id]; op != nil {
			all[op.ID] = op
			return
		}
		for _, o := range s.file.Ops {
			for _, p := range o.Parents {
				if o.ID == id {
					add(p)
				}
			}
		}
	}
	for _, id := range heads {
		add(id)
	}
	for _, op := range sent {
		all[op.ID] = op
	}
	below := map[codec.OpID]bool{}
	for _, op := range all {
		for _, ancestor := range s.cut(op.Parents) {
			below[ancestor.ID] = true
		}
	}
	for id := range all {
		if !below[id] {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compare)
	return ids
}

// wantConfig returns the counters of contexts that the case has.
func (s *stage) wantConfig(t *testing.T) map[codec.ContextID]codec.ContextConfigValue {
	want := map[codec.ContextID]codec.ContextConfigValue{}
	for c, text := range s.file.Config {
		want[here(s, c)] = parsed[codec.ContextConfigValue](t, "ContextConfigValue", text)
	}
	return want
}

// wantEquivocations returns of whom, under which nonce, there are how many ops. Where
// nothing stands between the ops of the case after the first, they are those that it has.
func (s *stage) wantEquivocations(t *testing.T) map[equivocation]int {
	want := map[equivocation]int{}
	for _, op := range s.forge.ops {
		want[equivocation{op.Signer, op.Nonce}]++
	}
	maps.DeleteFunc(want, func(_ equivocation, n int) bool { return n < 2 })
	if len(s.sent) > 1 {
		return want
	}
	said := map[equivocation]int{}
	for signer, nonces := range s.file.Equivocations {
		for text, n := range nonces {
			nonce, err := strconv.ParseUint(text, 10, 64)
			require.NoError(t, err)
			for _, o := range s.file.Ops {
				if o.Signer == signer && o.Nonce == nonce && s.ops[o.ID] == nil {
					n--
				}
			}
			said[equivocation{here(s, signer), s.nonce(t, signer, nonce)}] = n
		}
	}
	require.Equal(t, said, want)
	return want
}

func encoded(t *testing.T, v interface{ AppendBinary([]byte) ([]byte, error) }) []byte {
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	return b
}
