package fair

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

// counted is one that waits, in a list.
type counted struct {
	Owner
	number int
	bytes  int64
	place  *Place[int]
}

func (a counted) sameSpace(b counted) bool  { return a.Space == b.Space }
func (a counted) sameParty(b counted) bool  { return a.sameSpace(b) && a.Party == b.Party }
func (a counted) sameSender(b counted) bool { return a.Owner == b.Owner }

// list is all that wait, as they came, gone through each time.
type list struct {
	all  []counted
	each int64
}

// of returns what is like a in some respect, and its weight.
func (l *list) of(a counted, like func(a, b counted) bool) (found []counted, weight int64) {
	for _, b := range l.all {
		if like(a, b) {
			found = append(found, b)
			weight += b.bytes + l.each
		}
	}
	return found, weight
}

// crowded returns which of within may make room, any of several that are as heavy; none:
// no more wait than may.
func (l *list) crowded(within []counted, most Limits) (numbers []int) {
	bytes, heaviest := int64(0), int64(0)
	for _, c := range within {
		_, weight := l.of(c, counted.sameParty)
		bytes, heaviest = bytes+c.bytes, max(heaviest, weight)
	}
	if len(within) <= most.Count && (bytes <= most.Bytes || len(within) == 1) {
		return nil
	}
	for _, c := range within {
		party, weight := l.of(c, counted.sameParty)
		line, own := l.of(c, counted.sameSender)
		isMost := !slices.ContainsFunc(party, func(b counted) bool { _, w := l.of(b, counted.sameSender); return w > own })
		if weight == heaviest && isMost && line[0].number == c.number {
			numbers = append(numbers, c.number)
		}
	}
	return numbers
}

// due returns what Crowded may return.
func (l *list) due(space [32]byte, s *Shares[int]) []int {
	here, _ := l.of(counted{Owner: Owner{Space: space}}, counted.sameSpace)
	if numbers := l.crowded(here, s.space); numbers != nil {
		return numbers
	}
	return l.crowded(l.all, s.total)
}

func limits(t *rapid.T, what string) Limits {
	return Limits{Count: rapid.IntRange(1, 16).Draw(t, what), Bytes: rapid.Int64Range(1, 900).Draw(t, what+" in bytes")}
}

// The tree says what a list says of which all is looked at each time.
func TestSharesAreThoseOfAList(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		s := New[int](limits(t, "of a space"), limits(t, "of all"))
		l := &list{each: s.each}
		drop := func(at int) {
			s.Remove(l.all[at].place)
			l.all = slices.Delete(l.all, at, at+1)
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			some := func(what string, n int) (key [32]byte) {
				key[0] = byte(rapid.IntRange(1, n).Draw(t, what))
				return key
			}
			space := some("space", 3)
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what == 0 && len(l.all) > 0:
				drop(rapid.IntRange(0, len(l.all)-1).Draw(t, "gone"))
			case what == 1:
				s.Reset(space)
				l.all = slices.DeleteFunc(l.all, func(c counted) bool { return c.Space == space })
			default:
				c := counted{Owner{space, some("party", 3), some("sender", 3)}, i, rapid.Int64Range(1, 90).Draw(t, "bytes"), nil}
				c.place = s.Add(c.Owner, c.bytes, i)
				l.all = append(l.all, c)
			}
			for {
				want, p := l.due(space, s), s.Crowded(space)
				require.Equal(t, want == nil, p == nil)
				if p == nil {
					break
				}
				require.Contains(t, want, p.Value)
				drop(slices.IndexFunc(l.all, func(c counted) bool { return c.number == p.Value }))
			}
			require.Nil(t, s.CrowdedAnywhere())
			bytes := int64(0)
			for _, c := range l.all {
				bytes += c.bytes
			}
			count, total := s.Total()
			require.Equal(t, len(l.all), count)
			require.Equal(t, bytes, total)
			for n := range byte(4) {
				there := slices.ContainsFunc(l.all, func(c counted) bool { return c.Space == [32]byte{n} })
				require.Equal(t, there, s.Any([32]byte{n}))
			}
		}
	})
}

// What is taken from a line at its end goes too.
func TestALineKeepsLittleOfWhatWent(t *testing.T) {
	s := New[int](Limits{Count: 100, Bytes: 1 << 20}, Limits{Count: 100, Bytes: 1 << 20})
	var places []*Place[int]
	o := Owner{Space: [32]byte{1}}
	for i := range 10_000 {
		places = append(places, s.Add(o, 10, i))
		if i%2 == 1 {
			s.Remove(places[i]) // from the end
		}
		if p := s.Crowded(o.Space); p != nil {
			require.Equal(t, i-i%2-200, p.Value)
			s.Remove(p)
		}
	}
	require.LessOrEqual(t, len(s.all.parts[0].parts[0].parts[0].line), 202)
}
