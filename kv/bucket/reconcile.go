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
// are to be and belong to nobody, alters others of the service, and removes those whose alias the
// contract has no more, but lets go of those that were adopted. It returns ErrBlocked where a bucket of the name is another's, or is not as it
// would have to be. Done again it changes nothing.
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
		info, err := r.make(alias)
		if err != nil {
			return about(err, info.Name, "")
		}
		r.a.Bindings = append(r.a.Bindings, Binding{alias.Name, info.Name, alias.Required, alias.History, alias.TTLMs, alias.MaxValueBytes})
	}
	for _, bound := range had {
		if r.a.Desired.Alias(bound.Alias) == nil {
			if err := r.remove(bound); err != nil {
				return about(err, bound.Bucket, "")
			}
		}
	}
	r.a.Materialized = r.a.Version
	return nil
}

// make has the bucket of an alias be there, as the contract has it.
func (r *reconciliation) make(alias *contract.Alias) (Info, error) {
	c := Config{History: alias.History, TTL: time.Duration(alias.TTLMs) * time.Millisecond, MaxValue: uint64(alias.MaxValueBytes),
		Service: r.a.Service, Alias: alias.Name, Schema: alias.Schema.JSON()}
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
		case is.Service == c.Service && is.Alias == c.Alias:
			return r.keep(is, c)
		case is.Service == "":
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

// keep alters a bucket of the service, unless it is as it is to be.
func (r *reconciliation) keep(is Info, c Config) (Info, error) {
	if c.Adopted = is.Adopted; same(&is.Config, &c) {
		return is, nil
	}
	r.done.Altered = append(r.done.Altered, c.Alias)
	return r.store.alter(r.w, r.registry, c)
}

// adopt has a bucket that belongs to nobody be the service's.
func (r *reconciliation) adopt(is Info, c Config) (Info, error) {
	if is.History != c.History || is.TTL != c.TTL || is.MaxValue != c.MaxValue || is.Schema != nil && !bytes.Equal(is.Schema, c.Schema) {
		return is, refuse(CodeBlocked, "bucket", "there is a bucket of this name, made by hand, with another history, time to live, largest value or schema: have it be as the contract says, or drop it")
	}
	c.Adopted = true
	r.done.Adopted = append(r.done.Adopted, c.Alias)
	return r.store.alter(r.w, r.registry, c)
}

func same(a, b *Config) bool {
	return a.Name == b.Name && a.History == b.History && a.TTL == b.TTL && a.MaxValue == b.MaxValue &&
		a.Service == b.Service && a.Alias == b.Alias && a.Adopted == b.Adopted && bytes.Equal(a.Schema, b.Schema)
}

// remove drops the bucket of an alias that the contract has no more; one that was adopted
// belongs to nobody from then on.
func (r *reconciliation) remove(bound Binding) error {
	is, err := found(r.registry, bound.Bucket)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r.done.Removed = append(r.done.Removed, bound.Alias)
	return r.release(&is)
}

func (r *reconciliation) release(is *Info) error {
	if !is.Adopted {
		return r.store.drop(r.w, r.registry, is)
	}
	c := is.Config
	c.Service, c.Alias, c.Adopted = "", "", false
	_, err := r.store.alter(r.w, r.registry, c)
	return err
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

// Revoke removes the buckets of a service, each once, and its contracts, and lets go of those
// that were adopted. It returns the buckets that are gone.
func (s *Store) Revoke(ctx context.Context, tenant, service string) (gone []string, err error) {
	if registry, err := s.registry(tenant); registry == nil || err != nil {
		return nil, cmp.Or[error](err, noContract(service))
	}
	list, err := s.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, tenant, func(w *kv.Work, registry *kv.Tx) error {
		gone = nil
		a, err := authority(registry, service)
		if err != nil {
			return err
		}
		r := reconciliation{s, w, registry, tenant, a, &Reconciled{}}
		for _, info := range list {
			is, err := found(registry, info.Name)
			if errors.Is(err, ErrNotFound) || err == nil && is.Service != service {
				continue
			}
			if err == nil {
				err = r.release(&is)
			}
			if err != nil {
				return about(err, info.Name, "")
			}
			if !is.Adopted {
				gone = append(gone, info.Name)
			}
		}
		_, err = registry.Delete(keyOfService(service))
		return err
	})
	return gone, told(err)
}
