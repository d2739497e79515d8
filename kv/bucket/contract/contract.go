package contract

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv/document"
)

// Contract is what a service declares. It does not change, and is for any number of
// goroutines at once.
type Contract struct {
	Service string
	Aliases []*Alias // by name, in order

	text   json.RawMessage
	digest string
}

// Alias is a bucket that a contract asks for, under the name that the service knows it by.
type Alias struct {
	Name          string
	Purpose       string
	Schema        *Schema // of every value
	Required      bool    // whether the service's code may count on it; the bucket is made in any case
	History       int     // revisions of a key that are kept: 1 to MaxHistory
	TTLMs         int64   // how long a value lives; 0: for ever
	MaxValueBytes int64   // 0: as many as the store takes
}

// JSON is the contract as it was presented, in canonical form, with what means nothing here
// too. It is not to be changed.
func (c *Contract) JSON() json.RawMessage { return c.text }

// Alias returns what the contract says of an alias; nil if it has none of that name.
func (c *Contract) Alias(name string) *Alias {
	at, ok := slices.BinarySearchFunc(c.Aliases, name, func(a *Alias, name string) int { return strings.Compare(a.Name, name) })
	if !ok {
		return nil
	}
	return c.Aliases[at]
}

// Parse reads a contract. It returns ErrContract, with all that is wrong, for one that is not
// well formed. No file and no socket is opened, whatever its schemas refer to.
func Parse(text []byte) (*Contract, error) {
	tooLong := func(text []byte) error {
		return refused("", "a contract has at most %d bytes, and this has %d", MaxBytes, len(text))
	}
	if len(text) > MaxBytes {
		return nil, tooLong(text)
	}
	canonical, err := document.Canonical(text)
	if err != nil {
		return nil, refused("", "it is no JSON text: %s", err)
	}
	if len(canonical) > MaxBytes { // 1e20 is longer there
		return nil, tooLong(canonical)
	}
	if document.Kind(canonical) != '{' {
		return nil, refused("", "a contract is a JSON object, and this is %s", kindOf(canonical))
	}
	r := &reader{contract: &Contract{text: slices.Clip(canonical)}}
	r.read()
	if err := r.err(); err != nil {
		return nil, err
	}
	r.contract.digest = r.contract.digested()
	return r.contract, nil
}
