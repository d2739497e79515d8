package bucket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

// Reconciled is what a reconciliation has done, by aliases.
type Reconciled struct {
	*Authority
	Created, Adopted, Altered, Removed []string
}

// Reconcile has the buckets of a service be those of the contract that is desired, all of them
// or, where one can't be, none: it makes those that are missing, adopts those that are as they
// are to be and that no contract has made, alters others of the service, and removes those whose
// alias the contract has no more, but lets go of those that were adopted. It returns ErrBlocked
// where a bucket of the name is another's, is not as it would have to be, or keeps more than the
// last contract had it keep, so that nobody has agreed to losing that. Done again it changes nothing.
func (s *Store) Reconcile(ctx context.Context, tenant, service string) (Reconciled, error) {
	var done Reconciled
	a, err := s.agree(ctx, tenant, service, func(w *kv.Work, registry *kv.Tx, a *Authority) error {
		done = Reconciled{}
		if a.Desired == nil {
			return refuse(CodeNotFound, "service", "no contract of the service was accepted")
		}
		r := reconciliation{s, w, registry, tenant, a, &done}
		return r.run()
	})
	done.Authority = a
	return done, err
}

// reconciliation is one, in a unit of work.
type reconciliation struct {
	store    *Store
	w        *kv.Work
	registry *kv.Tx
	tenant   string
	a        *Authority
	done     *Reconciled
}

func (r *reconciliation) run() error {
	had := r.a.Bindings
	r.a.Bindings = nil
	for _, alias := range r.a.Desired.Aliases {
		info, err := r.make(alias, had)
		if err != nil {
			return about(err, info.Name, "")
		}
		r.a.Bindings = append(r.a.Bindings, Binding{alias.Name, info.Name, alias.Required, alias.History, alias.TTLMs, alias.MaxValueBytes})
	}
	for _, bound := range had {
		if r.a.Desired.Alias(bound.Alias) == nil {
			if _, err := r.remove(bound); err != nil {
				return about(err, bound.Bucket, "")
			}
			r.done.Removed = append(r.done.Removed, bound.Alias)
		}
	}
	r.a.Materialized = r.a.Version
	return nil
}

// make has the bucket of an alias be there, as the contract has it: the one that the service had
// under that alias, else one of its names.
func (r *reconciliation) make(alias *contract.Alias, had []Binding) (Info, error) {
	c := Config{History: alias.History, TTL: time.Duration(alias.TTLMs) * time.Millisecond, MaxValue: uint64(alias.MaxValueBytes),
		Service: r.a.Service, Alias: alias.Name, Schema: alias.Schema.JSON()}
	if at := slices.IndexFunc(had, func(b Binding) bool { return b.Alias == alias.Name }); at >= 0 {
		is, err := found(r.registry, had[at].Bucket)
		switch {
		case errors.Is(err, ErrNotFound): // it was dropped
		case err != nil:
			return Info{}, err
		case is.Service == c.Service && is.Alias == c.Alias:
			return r.keep(is, c, &had[at])
		}
	}
	for name := range contract.Names(r.a.Service, alias.Name) {
		c.Name = name
		is, err := found(r.registry, name)
		switch {
		case errors.Is(err, ErrNotFound):
			if err := c.check(); err != nil {
				return Info{Config: c}, err
			}
			r.done.Created = append(r.done.Created, alias.Name)
			return r.store.create(r.w, r.registry, r.tenant, c)
		case err != nil:
			return Info{Config: c}, err
		case is.Service == "", is.Service == c.Service && is.Alias == c.Alias:
			return r.adopt(is, c)
		case !slices.Contains(first(contract.Names(is.Service, is.Alias), maxSuffix), name): // somebody gave it to the other service by hand
			return is, refuse(CodeBlocked, "bucket", "the bucket is of the service %q: drop it, or name the alias %q otherwise", is.Service, alias.Name)
		}
	}
	panic("unreachable: there is always another name")
}

// maxSuffix is how many names are looked at that a pair of service and alias has.
const maxSuffix = 100

func first(names func(func(string) bool), n int) (list []string) {
	for name := range names {
		if list = append(list, name); len(list) == n {
			break
		}
	}
	return list
}

// keep alters a bucket that the service has, unless it is as it is to be. What it loses by that
// is what the acceptance of the contract was about, unless the bucket was altered by hand to keep
// more than that.
func (r *reconciliation) keep(is Info, c Config, bound *Binding) (Info, error) {
	if c.Name, c.Adopted = is.Name, is.Adopted; same(&is.Config, &c) {
		return is, nil
	}
	switch {
	case is.History > c.History && is.History > bound.History:
		return is, refuse(CodeBlocked, "history", "the bucket was altered to keep %d revisions of a key, of which the contract leaves %d: alter it to those first, or have the contract keep as many", is.History, c.History)
	case shorter(is.TTL, c.TTL) && shorter(is.TTL, time.Duration(bound.TTLMs)*time.Millisecond):
		return is, refuse(CodeBlocked, "ttl", "the bucket was altered to keep values for longer than the contract does, %s: alter it to that first, or have the contract keep them as long", c.TTL)
	}
	r.done.Altered = append(r.done.Altered, c.Alias)
	return r.store.alter(r.w, r.registry, c)
}

// shorter reports whether a time to live is shorter than another, where 0 is for ever.
func shorter(from, to time.Duration) bool { return to != 0 && (from == 0 || to < from) }

// adopt has a bucket that was made by hand be the service's. Nothing of it is altered but whose it is.
func (r *reconciliation) adopt(is Info, c Config) (Info, error) {
	schema, err := compile(is.Name, is.Schema)
	if err != nil {
		return is, err
	}
	for _, differs := range []struct {
		in string
		so bool
	}{
		{"history", is.History != c.History},
		{"time to live", is.TTL != c.TTL},
		{"largest value", cmp.Or(is.MaxValue, MaxValue) != cmp.Or(c.MaxValue, MaxValue)},
		{"schema", schema == nil || !bytes.Equal(schema.JSON(), c.Schema)},
	} {
		if differs.so {
			return is, refuse(CodeBlocked, "bucket", "there is a bucket of this name, made by hand, with another %s than the contract's: alter it to that, or drop it", differs.in)
		}
	}
	c.Adopted = true
	r.done.Adopted = append(r.done.Adopted, c.Alias)
	return r.store.alter(r.w, r.registry, c)
}

func same(a, b *Config) bool {
	return a.Name == b.Name && a.History == b.History && a.TTL == b.TTL && a.MaxValue == b.MaxValue &&
		a.Service == b.Service && a.Alias == b.Alias && a.Adopted == b.Adopted && bytes.Equal(a.Schema, b.Schema)
}

// remove drops the bucket of a binding, if it still is the service's; one that was adopted belongs
// to nobody from then on.
func (r *reconciliation) remove(bound Binding) (dropped bool, err error) {
	is, err := found(r.registry, bound.Bucket)
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && (is.Service != r.a.Service || is.Alias != bound.Alias):
		return false, nil
	case err != nil:
		return false, err
	case !is.Adopted:
		return true, r.store.drop(r.w, r.registry, &is)
	}
	c := is.Config
	c.Service, c.Alias, c.Adopted = "", "", false
	_, err = r.store.alter(r.w, r.registry, c)
	return false, err
}

// Bound returns the bucket that a service has under an alias: none while a contract is accepted
// and not reconciled.
func (s *Store) Bound(tenant, service, alias string) (*Bucket, error) {
	name := bucketName{tenant: tenant, service: service, alias: alias}
	b, changed := s.remembered(name)
	if b != nil {
		return b, nil
	}
	a, err := s.Authority(tenant, service)
	if err != nil {
		return nil, err
	}
	for _, bound := range a.Bindings {
		if bound.Alias == alias && a.Bound() {
			b, err := s.OpenFor(tenant, service, bound.Bucket)
			if err == nil {
				s.remember(name, b, changed)
			}
			return b, err
		}
	}
	if a.Version != a.Materialized {
		return nil, refuse(CodeNotFound, "alias", "the contract of %q was accepted and is not reconciled: its buckets are not bound before that", service)
	}
	return nil, refuse(CodeNotFound, "alias", "the contract of %q has no alias %q", service, alias)
}

// Revoke removes the buckets that a service has by its contracts, each once, and these, and lets go
// of those that were adopted. It returns the buckets that are gone.
func (s *Store) Revoke(ctx context.Context, tenant, service string) (gone []string, err error) {
	if registry, err := s.registry(tenant); registry == nil || err != nil {
		return nil, cmp.Or[error](err, noContract(service))
	}
	err = s.change(ctx, tenant, func(w *kv.Work, registry *kv.Tx) error {
		gone = nil
		a, err := authority(registry, service)
		if err != nil {
			return err
		}
		r := reconciliation{s, w, registry, tenant, a, &Reconciled{}}
		for _, bound := range a.Bindings {
			dropped, err := r.remove(bound)
			if err != nil {
				return about(err, bound.Bucket, "")
			}
			if dropped {
				gone = append(gone, bound.Bucket)
			}
		}
		_, err = registry.Delete(keyOfService(service))
		return err
	})
	return gone, told(err)
}
