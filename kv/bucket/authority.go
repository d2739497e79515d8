package bucket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

// Authority is what a tenant has agreed with a service: the contract that is desired, the one
// that buckets were made by, and the one that waits for a decision.
type Authority struct {
	Service string
	// Version counts the contracts that were accepted, those aside that change nothing that
	// matters; 0: none was. Materialized is the one that buckets were made by: the service has
	// its bindings while both are the same.
	Version, Materialized uint64
	Desired               *contract.Contract // nil: none was accepted
	Accepted              time.Time
	Proposed              *contract.Contract // nil: none waits
	ProposedAt            time.Time
	Bindings              []Binding // by alias in order, of the contract that buckets were made by
}

// Bound reports whether the buckets are those of the contract that is desired.
func (a *Authority) Bound() bool { return a.Version != 0 && a.Version == a.Materialized }

// Binding is the bucket that a service has under an alias.
type Binding struct {
	Alias         string `json:"alias"`
	Bucket        string `json:"bucket"`
	Required      bool   `json:"required"`
	History       int    `json:"history"`
	TTLMs         int64  `json:"ttlMs"`
	MaxValueBytes int64  `json:"maxValueBytes,omitempty"`
}

// agreed is what the registry says of a service, in JSON, under contract: and its name.
type agreed struct {
	Version      uint64          `json:"version"`
	Materialized uint64          `json:"materialized"`
	Desired      json.RawMessage `json:"desired,omitempty"`
	Accepted     time.Time       `json:"accepted_at,omitzero"`
	Proposed     json.RawMessage `json:"proposed,omitempty"`
	ProposedAt   time.Time       `json:"proposed_at,omitzero"`
	Bindings     []Binding       `json:"bindings,omitempty"`
}

// contractWord is what the key of a service in the registry begins with.
const contractWord = "contract:"

func keyOfService(service string) []byte { return []byte(contractWord + service) }

func (a *Authority) bytes() []byte {
	s := agreed{Version: a.Version, Materialized: a.Materialized, Accepted: a.Accepted, ProposedAt: a.ProposedAt, Bindings: a.Bindings}
	if a.Desired != nil {
		s.Desired = a.Desired.JSON()
	}
	if a.Proposed != nil {
		s.Proposed = a.Proposed.JSON()
	}
	b, err := json.Marshal(s)
	if err != nil { // contracts are JSON
		panic(err)
	}
	return b
}

func parseAuthority(key, value []byte) (*Authority, error) {
	var s agreed
	damaged := func(err error) error {
		return fmt.Errorf("bucket: the registry's record %q: %w: %w", key, engine.ErrCorrupt, err)
	}
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, damaged(err)
	}
	a := &Authority{Service: strings.TrimPrefix(string(key), contractWord), Version: s.Version, Materialized: s.Materialized, Accepted: s.Accepted, ProposedAt: s.ProposedAt, Bindings: s.Bindings}
	for _, c := range []struct {
		text json.RawMessage
		to   **contract.Contract
	}{{s.Desired, &a.Desired}, {s.Proposed, &a.Proposed}} {
		if c.text == nil {
			continue
		}
		var err error
		if *c.to, err = contract.Parse(c.text); err != nil {
			return nil, damaged(err)
		}
	}
	return a, nil
}

func noContract(service string) *Error {
	return refuse(CodeNotFound, "service", "there is no contract of the service %q: propose one", service)
}

// authority returns what the registry says of a service, or ErrNotFound.
func authority(registry getter, service string) (*Authority, error) {
	r, err := registry.Get(keyOfService(service))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, noContract(service)
	}
	if err != nil {
		return nil, err
	}
	return parseAuthority(r.Key, r.Value)
}

// Authority returns what a tenant has agreed with a service, or ErrNotFound.
func (s *Store) Authority(tenant, service string) (*Authority, error) {
	registry, err := s.registry(tenant)
	if registry == nil || err != nil {
		return nil, cmp.Or[error](err, noContract(service))
	}
	a, err := authority(registry, service)
	return a, told(err)
}

// Authorities returns what a tenant has agreed with all services, in order of their names.
func (s *Store) Authorities(ctx context.Context, tenant string) (list []*Authority, err error) {
	registry, err := s.registry(tenant)
	if registry == nil || err != nil {
		return nil, err
	}
	for r, err := range registry.All(ctx, []byte(contractWord)) {
		if err != nil {
			return nil, told(err)
		}
		a, err := parseAuthority(r.Key, r.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// agree changes what a tenant has agreed with a service. fn gets what that is, in a unit of
// work, and may run more than once.
func (s *Store) agree(ctx context.Context, tenant, service string, fn func(*kv.Work, *kv.Tx, *Authority) error) (*Authority, error) {
	var a *Authority
	err := s.change(ctx, tenant, func(w *kv.Work, registry *kv.Tx) (err error) {
		if a, err = authority(registry, service); err != nil {
			return err
		}
		if err := fn(w, registry, a); err != nil {
			return err
		}
		_, err = registry.Put(keyOfService(service), a.bytes(), kv.PutOptions{})
		return err
	})
	return a, told(err)
}

// Propose has a contract wait for a decision, instead of one of the service that waits. It
// returns contract.ErrContract for what is none. Nothing of the service's buckets is changed.
func (s *Store) Propose(ctx context.Context, tenant string, text []byte) (*Authority, error) {
	c, err := contract.Parse(text)
	if err != nil {
		return nil, err
	}
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	var a *Authority
	err = s.change(ctx, tenant, func(w *kv.Work, registry *kv.Tx) (err error) {
		if a, err = authority(registry, c.Service); errors.Is(err, ErrNotFound) {
			a, err = &Authority{Service: c.Service}, nil
		}
		if err != nil {
			return err
		}
		a.Proposed, a.ProposedAt = c, w.Now().Truncate(time.Millisecond)
		_, err = registry.Put(keyOfService(c.Service), a.bytes(), kv.PutOptions{})
		return err
	})
	return a, told(err)
}

// waits returns the contract that waits for a decision, or what is wrong with deciding about
// the one that has a digest.
func (a *Authority) waits(digest string) (*contract.Contract, error) {
	switch {
	case a.Proposed == nil:
		return nil, refuse(CodeNotFound, "service", "no contract of the service waits for a decision")
	case a.Proposed.Digest() != digest:
		return nil, invalid("digest", "the contract that waits has another digest, %s: look at its plan first", a.Proposed.Digest())
	}
	return a.Proposed, nil
}

// Accept has the contract that waits be the one that is desired. A plan that is a migration is
// to be acknowledged as one, and one that is not may not be. Nothing of the service's buckets is
// changed: Reconcile does that. It returns ErrConflict for the other class of plan.
func (s *Store) Accept(ctx context.Context, tenant, service, digest string, migration bool) (*Authority, error) {
	return s.agree(ctx, tenant, service, func(w *kv.Work, _ *kv.Tx, a *Authority) error {
		c, err := a.waits(digest)
		if err != nil {
			return err
		}
		plan, err := contract.Compare(a.Desired, c)
		if err != nil {
			return err
		}
		switch is := plan.Class == contract.ClassMigration; {
		case is && !migration:
			return refuse(CodeConflict, "migration", "the plan is a migration, by which something may be lost or refused: look at it, and acknowledge that")
		case !is && migration:
			return refuse(CodeConflict, "migration", "the plan is no migration: nothing is to be acknowledged")
		}
		if a.Desired == nil || a.Desired.Digest() != c.Digest() {
			a.Version++
		}
		a.Desired, a.Accepted = c, w.Now().Truncate(time.Millisecond)
		a.Proposed, a.ProposedAt = nil, time.Time{}
		return nil
	})
}

// Reject forgets the contract that waits. What is desired stays as it is.
func (s *Store) Reject(ctx context.Context, tenant, service, digest string) (*Authority, error) {
	return s.agree(ctx, tenant, service, func(_ *kv.Work, _ *kv.Tx, a *Authority) error {
		if _, err := a.waits(digest); err != nil {
			return err
		}
		a.Proposed, a.ProposedAt = nil, time.Time{}
		return nil
	})
}

// Proposal is a contract that waits for a decision, and what accepting it changes.
type Proposal struct {
	Service string `json:"service"`
	Digest  string `json:"digest"`
	*contract.Plan
	Refused []Refused `json:"refused,omitempty"` // of each alias whose schema is another
}

// Refused is how many of the values that a bucket has do not hold to the schema that it is to
// have.
type Refused struct {
	Alias  string `json:"alias"`
	Bucket string `json:"bucket"`
	Values uint64 `json:"values"`  // that were looked at: the newest of each key
	Count  uint64 `json:"refused"` // that do not hold to it
	Key    string `json:"key,omitempty"`
	Reason string `json:"reason,omitempty"` // what is wrong with that of Key, the first one
}

// Plan returns what accepting the contract of a service that waits changes. Where a schema is
// another, it goes through all that the bucket has.
func (s *Store) Plan(ctx context.Context, tenant, service string) (*Proposal, error) {
	a, err := s.Authority(tenant, service)
	if err != nil {
		return nil, err
	}
	if a.Proposed == nil {
		return nil, refuse(CodeNotFound, "service", "no contract of the service waits for a decision")
	}
	p := &Proposal{Service: service, Digest: a.Proposed.Digest()}
	if p.Plan, err = contract.Compare(a.Desired, a.Proposed); err != nil {
		return nil, err
	}
	for _, c := range p.Changes {
		if c.What != contract.WhatSchema {
			continue
		}
		for _, bound := range a.Bindings {
			if bound.Alias != c.Alias {
				continue
			}
			r, err := s.refused(ctx, tenant, bound, a.Proposed.Alias(c.Alias).Schema)
			if err != nil {
				return nil, err
			}
			p.Refused = append(p.Refused, r)
		}
	}
	return p, nil
}

// refused counts the values of a bucket that do not hold to a schema.
func (s *Store) refused(ctx context.Context, tenant string, bound Binding, schema *contract.Schema) (Refused, error) {
	r := Refused{Alias: bound.Alias, Bucket: bound.Bucket}
	b, err := s.Open(tenant, bound.Bucket)
	if errors.Is(err, ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	for record, err := range b.find(ctx, nil) {
		if err != nil {
			return r, b.told(err, "")
		}
		if isMarker(record.Form) {
			continue
		}
		r.Values++
		if _, err := schema.Read(record.Value); err != nil {
			if r.Count++; r.Count == 1 {
				r.Key, r.Reason = string(record.Key), err.Error()
			}
		}
	}
	return r, nil
}
