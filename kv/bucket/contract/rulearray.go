package contract

import "math/big"

func prefixHolds(c *check, o facts, n node, word string) *stop {
	for i, element := range n.listed("prefixItems") {
		if found := c.value(o.element(i), element); found != nil {
			return found
		}
	}
	return nil
}

// itemsHold asks about every element behind those of prefixItems: those that had a schema of
// their own, and the others.
func itemsHold(c *check, o facts, n node, word string) *stop {
	longest := len(n.listed("prefixItems"))
	for _, old := range o.all {
		longest = max(longest, len(old.listed("prefixItems")))
	}
	for i := len(n.listed("prefixItems")); i <= longest; i++ { // the last is any behind all that have their own
		if found := c.value(o.element(i), n.child(word)); found != nil {
			return found
		}
	}
	return nil
}

// counts returns how many elements a contains asks for: at least, and at most, where nil is
// any number; false if they are beyond what the library counts to.
func (n node) counts() (least, most *big.Rat, ok bool) {
	least, most = n.number("minContains", true), n.number("maxContains", true)
	ok = (least == nil) == (n.words()["minContains"] == nil) && (most == nil) == (n.words()["maxContains"] == nil)
	if least == nil {
		least = big.NewRat(1, 1)
	}
	return least, most, ok
}

func containsHolds(c *check, o facts, n node, word string) *stop {
	counted := n.child(word)
	least, most, ok := n.counts()
	if !ok {
		return n.stop(word, "it is too great to be compared")
	}
	enough, notMore := least.Sign() == 0, most == nil
	for _, old := range o.all {
		before, ok := old.within(word)
		if !ok {
			continue
		}
		wasLeast, wasMost, ok := old.counts()
		enough = enough || ok && wasLeast.Cmp(least) >= 0 && c.value([]node{before}, counted) == nil
		notMore = notMore || wasMost != nil && wasMost.Cmp(most) <= 0 && c.strictly(counted, before)
	}
	if !enough {
		return n.stop(word, "arrays with fewer such elements were allowed")
	}
	if !notMore {
		return n.stop("maxContains", "arrays with more such elements were allowed")
	}
	return nil
}
