package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// leastShare is how many mutants of each package are tried, if it has as many
// and the count allows it: a small package is not lost beside a large one.
const leastShare = 20

// choose draws the mutants to try, in the order of their places. What is drawn
// of a package hangs on the seed and on the code of its mutants alone: another
// choice of packages, or an edit elsewhere, draws the same ones again, and a
// greater count adds to them.
func choose(all []*site, s settings) []*site {
	if !s.errors {
		all = slices.DeleteFunc(all, func(m *site) bool { return m.operator == ignored })
	}
	if s.only != "" {
		all = slices.DeleteFunc(all, func(m *site) bool { return !strings.Contains(m.key(), s.only) })
	}
	if s.count == 0 || len(all) <= s.count {
		return all
	}
	byPackage := map[string][]*site{}
	for _, m := range all {
		byPackage[m.pkg()] = append(byPackage[m.pkg()], m)
	}
	var chosen []*site
	for pkg, share := range shares(byPackage, s.count) {
		list := byPackage[pkg]
		slices.SortFunc(list, func(a, b *site) int { return bytes.Compare(a.draw(s.seed), b.draw(s.seed)) })
		chosen = append(chosen, list[:share]...)
	}
	slices.SortFunc(chosen, func(a, b *site) int { return a.id - b.id })
	return chosen
}

// draw is the lot of a mutant: those with the least are tried.
func (s *site) draw(seed uint64) []byte {
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), s.key()...))
	return sum[:]
}

// shares says how many mutants of each package are tried, together count: the
// least share of each, and of the rest in proportion to how many it has.
func shares(byPackage map[string][]*site, count int) map[string]int {
	least := min(leastShare, count/len(byPackage))
	share := map[string]int{}
	rest, spare := count, 0
	for pkg, list := range byPackage {
		share[pkg] = min(least, len(list))
		rest -= share[pkg]
		spare += len(list) - share[pkg]
	}
	left := rest
	for pkg, list := range byPackage {
		more := rest * (len(list) - share[pkg]) / max(spare, 1)
		share[pkg] += more
		left -= more
	}
	for left > 0 { // what rounding left over, to those of which most is untried
		most := ""
		for pkg, list := range byPackage {
			untried := len(list) - share[pkg]
			if best := len(byPackage[most]) - share[most]; most == "" || untried > best || untried == best && pkg < most {
				most = pkg
			}
		}
		share[most]++
		left--
	}
	return share
}
