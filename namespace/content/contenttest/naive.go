// Package contenttest has the definition of which deltas of a signed context count, for tests of what
// finds it out otherwise.
package contenttest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/envelope"
)

// Naive returns which of all envelopes of a context of ns count, by the letter of content/README.md,
// and by the ops that gov has. Each parent must be among them.
func Naive(t require.TestingT, gov *namespace.Store, ns codec.GroupID, context codec.ContextID, all map[codec.EnvelopeID]*envelope.Envelope) map[codec.EnvelopeID]bool {
	permits, stand := map[codec.EnvelopeID]namespace.Permit{}, map[codec.EnvelopeID]bool{}
	for id, e := range all {
		a, err := gov.Origins(ns, []namespace.Origin{{Context: context, Author: e.Author, Cut: e.Cut, KeyOp: e.KeyOp}})
		require.NoError(t, err)
		require.Equal(t, namespace.OriginAllowed, a[0].Kind)
		s, err := gov.Standing(ns, []namespace.Permit{a[0].Permit})
		require.NoError(t, err)
		permits[id], stand[id] = a[0].Permit, s[0]
	}
	vouched := map[codec.EnvelopeID]bool{}
	for id := range all {
		if !stand[id] {
			continue
		}
		for open := []codec.EnvelopeID{id}; len(open) > 0; {
			at := open[0]
			open = open[1:]
			if !vouched[at] {
				vouched[at] = true
				open = append(open, all[at].Parents...)
			}
		}
	}
	var cuts [][]codec.OpID
	for id := range vouched {
		cuts = append(cuts, all[id].Cut)
	}
	counts := map[codec.EnvelopeID]bool{}
	var isOut func(id codec.EnvelopeID) bool
	isOut = func(id codec.EnvelopeID) bool {
		if vouched[id] {
			return false
		}
		closed, err := gov.Closed(ns, []namespace.Permit{permits[id]}, cuts)
		require.NoError(t, err)
		return closed[0] || slices.ContainsFunc(all[id].Parents, isOut)
	}
	for id := range all {
		if !isOut(id) {
			counts[id] = true
		}
	}
	return counts
}
