package bucket

import (
	"encoding/json"
	"time"

	"github.com/stoadb/stoa/kv/bucket/contract"
)

// shownAuthority is an [Authority] as clients are shown it.
type shownAuthority struct {
	Service      string         `json:"service"`
	Version      uint64         `json:"version"`
	Materialized uint64         `json:"materialized"`
	Bound        bool           `json:"bound"`
	Desired      *shownContract `json:"desired,omitempty"`
	Proposed     *shownContract `json:"proposed,omitempty"`
	Bindings     []Binding      `json:"bindings"`
}

// shownContract is a contract, and since when it is what it is.
type shownContract struct {
	Digest   string          `json:"digest"`
	Since    time.Time       `json:"since"`
	Contract json.RawMessage `json:"contract"`
}

func showContract(c *contract.Contract, since time.Time) *shownContract {
	if c == nil {
		return nil
	}
	return &shownContract{c.Digest(), since.UTC(), c.JSON()}
}

// read parses the contract; the digest follows from it.
func (s *shownContract) read() (*contract.Contract, time.Time, error) {
	if s == nil {
		return nil, time.Time{}, nil
	}
	c, err := contract.Parse(s.Contract)
	return c, s.Since, err
}

// MarshalJSON is the authority with its contracts, their digests, and whether its buckets are
// bound.
func (a *Authority) MarshalJSON() ([]byte, error) {
	s := shownAuthority{a.Service, a.Version, a.Materialized, a.Bound(), showContract(a.Desired, a.Accepted), showContract(a.Proposed, a.ProposedAt), a.Bindings}
	if s.Bindings == nil {
		s.Bindings = []Binding{}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON has written. It returns contract.ErrContract where a
// contract of it is none.
func (a *Authority) UnmarshalJSON(text []byte) (err error) {
	var s shownAuthority
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	read := Authority{Service: s.Service, Version: s.Version, Materialized: s.Materialized}
	if len(s.Bindings) > 0 {
		read.Bindings = s.Bindings
	}
	if read.Desired, read.Accepted, err = s.Desired.read(); err != nil {
		return err
	}
	if read.Proposed, read.ProposedAt, err = s.Proposed.read(); err != nil {
		return err
	}
	*a = read
	return nil
}
