package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// pageLimit returns how many entries a page has at most, as a client asks for.
func pageLimit(asked int) int {
	if asked <= 0 || asked > wire.MaxListPage {
		return wire.MaxListPage
	}
	return asked
}

// after asks for a page of a list: what follows an entry.
type after[N any] struct {
	After N `wire:",optional"`
	Limit int
}

// limit returns how many entries the page has at most.
func (a *after[N]) limit() int { return pageLimit(a.Limit) }

// from has a page be asked for.
func (a *after[N]) from(last N, limit int) { a.After, a.Limit = last, limit }

// paged is a page of a list, and what the next one is after: zero with the last.
type paged[T, N any] struct {
	List []T `wire:"*"`
	Next N   `wire:",optional"`
}

// page makes a page of what list returns; next returns what the page after an entry
// begins with.
func page[T, N any](a *after[N], list func(after N, limit int) ([]T, error), next func(*T) N) (p paged[T, N], err error) {
	if p.List, err = list(a.After, a.limit()); err == nil && len(p.List) == a.limit() {
		p.Next = next(&p.List[len(p.List)-1])
	}
	return p, err
}

// cut makes a page of the first that seq yields, as page does.
func cut[T, N any](a *after[N], seq iter.Seq2[T, error], next func(*T) N) (p paged[T, N], err error) {
	for entry, err := range seq {
		if err != nil {
			return p, err
		}
		if len(p.List) == a.limit() {
			p.Next = next(&p.List[len(p.List)-1])
			break
		}
		p.List = append(p.List, entry)
	}
	return p, nil
}

// itself is what a page of ids is followed by.
func itself[T any](id *T) T { return *id }

// pages makes an operation by the client that lists something, as often as it has pages.
// It yields the error that ends it.
func pages[S, In, T any, N comparable, A interface {
	*In
	from(N, int)
}](ctx context.Context, c *Client, o *op.Unary[S, In, paged[T, N]], in In) iter.Seq2[T, error] {
	return caller.Pagewise(o.Name, 0, *new(N), func(last N, limit int) ([]T, N, error) {
		A(&in).from(last, limit)
		p, err := call(ctx, c, o, in)
		return p.List, p.Next, err
	})
}
