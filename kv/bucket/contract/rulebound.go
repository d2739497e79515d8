package contract

import (
	"encoding/json"
	"math/big"

	"github.com/stoadb/stoa/kv/document"
)

// bound is a keyword that has a number, beyond which values are refused.
type bound struct {
	of    types
	sign  int    // 1: it is the most that is allowed, -1: the least
	whole bool   // it counts something
	open  bool   // the number itself is refused too
	as    string // the word for the same with or without the number itself; "": there is none
	said  string // what was allowed, for people
}

var bounds = map[string]bound{
	"minimum":          {of: numbers, sign: -1, as: "exclusiveMinimum", said: "smaller numbers were allowed"},
	"exclusiveMinimum": {of: numbers, sign: -1, open: true, as: "minimum", said: "smaller numbers were allowed"},
	"maximum":          {of: numbers, sign: 1, as: "exclusiveMaximum", said: "greater numbers were allowed"},
	"exclusiveMaximum": {of: numbers, sign: 1, open: true, as: "maximum", said: "greater numbers were allowed"},
	"minLength":        {of: texts, sign: -1, whole: true, said: "shorter strings were allowed"},
	"maxLength":        {of: texts, sign: 1, whole: true, said: "longer strings were allowed"},
	"minItems":         {of: arrays, sign: -1, whole: true, said: "arrays of fewer elements were allowed"},
	"maxItems":         {of: arrays, sign: 1, whole: true, said: "arrays of more elements were allowed"},
	"minProperties":    {of: objects, sign: -1, whole: true, said: "objects of fewer properties were allowed"},
	"maxProperties":    {of: objects, sign: 1, whole: true, said: "objects of more properties were allowed"},
}

// number returns the number that a keyword has; nil if it has none. One that counts is known
// only if the library counts as far.
func (n node) number(word string, whole bool) *big.Rat {
	text, ok := n.words()[word].(json.Number)
	if !ok {
		return nil
	}
	number, ok := new(big.Rat).SetString(text.String())
	if !ok || whole && number.Cmp(new(big.Rat).SetInt64(document.MaxSafe)) > 0 {
		return nil
	}
	return number
}

// holds looks for a bound that is as tight.
func (b bound) holds(_ *check, o facts, n node, word string) *stop {
	limit := n.number(word, b.whole)
	if limit == nil {
		return n.stop(word, "it is too great to be compared")
	}
	if b.whole && b.sign < 0 && limit.Sign() == 0 {
		return nil
	}
	if o.any(func(old node) bool {
		if was := old.number(word, b.whole); was != nil && was.Cmp(limit)*b.sign <= 0 {
			return true
		}
		was := old.number(b.as, false)
		if was == nil {
			return false
		}
		way := was.Cmp(limit) * b.sign
		return way < 0 || way == 0 && !b.open // the other word refuses its number, or this one does not
	}) {
		return nil
	}
	return n.stop(word, "%s than %s", b.said, show(n.words()[word]))
}

func multipleHolds(_ *check, o facts, n node, word string) *stop {
	of := n.number(word, false)
	if o.any(func(old node) bool {
		was := old.number(word, false)
		return was != nil && new(big.Rat).Quo(was, of).IsInt()
	}) {
		return nil
	}
	return n.stop(word, "numbers that are no multiple of %s were allowed", show(n.words()[word]))
}
