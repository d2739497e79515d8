package policy

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// PoliciesFor returns the active policies that are about an action, as email.send: those of
// its own scope, of all that it is below (email.*), and of everything (*), in order of
// their creation. For a pattern, as email.*, they are those that are about all or some
// of its actions. It returns record.ErrValidation for what is neither,
// record.ErrTooLarge for more than record.MaxIDs.
func (s *Store) PoliciesFor(ctx context.Context, tenant, scope string) ([]record.Doc, error) {
	p, err := ParsePattern(scope)
	if err != nil {
		return nil, refusal(invalid("scope", "%v", err))
	}
	view, err := s.records.View(tenant)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	var found []record.Doc
	for _, by := range filtersFor(p) {
		for d, err := range each(ctx, view, Policies, record.Query{Filters: []record.Filter{by, {Index: "active"}}}) {
			if err != nil {
				return nil, err
			}
			if found = append(found, d); len(found) > record.MaxIDs {
				return nil, &record.Error{Code: record.CodeTooLarge, Collection: Policies, Limit: record.MaxIDs, Reason: "too many policies are about it: list them by pages"}
			}
		}
	}
	slices.SortFunc(found, func(a, b record.Doc) int { return int(a.Ordinal) - int(b.Ordinal) })
	return found, nil
}

// filtersFor find the policies whose scopes have actions of a pattern, each once.
func filtersFor(p Pattern) []record.Filter {
	if p.text == "*" {
		return []record.Filter{{}}
	}
	by := []record.Filter{record.Equal("scope", "*")}
	name, below := p.below()
	if below {
		by = append(by, record.Filter{Index: "scope", From: document.FromText(name + "."), To: document.FromText(name + "/")})
	} else {
		name = p.text
		by = append(by, record.Equal("scope", name))
	}
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return by
		}
		name = name[:dot]
		by = append(by, record.Equal("scope", name+".*"))
	}
}

// ClaimsAbout returns a page of the claims about an object that hold, of a type: who owns
// org:blackroad. "" is any type. Of the query Limit, Cursor, All and Reverse count.
func (s *Store) ClaimsAbout(ctx context.Context, tenant, object, claimType string, q record.Query) (record.Page, error) {
	q.Filters = AboutObject(object, claimType)
	return s.records.List(ctx, tenant, Claims, q)
}

// AboutObject finds the claims about an object, of a type; "" is any type.
func AboutObject(object, claimType string) []record.Filter {
	by := []record.Filter{record.Equal("by_object", object)}
	if claimType != "" {
		by = append(by, record.Equal("by_type", claimType))
	}
	return by
}

// WorkOf returns a page of the intents that an agent is assigned to, in a status: what is
// it working on. "" is any status. Of the query Limit, Cursor and Reverse count.
func (s *Store) WorkOf(ctx context.Context, tenant, agent, status string, q record.Query) (record.Page, error) {
	q.Filters = OfAgent(agent, status)
	return s.records.List(ctx, tenant, Intents, q)
}

// OfAgent finds the intents that an agent is assigned to, in a status; "" is any status.
func OfAgent(agent, status string) []record.Filter {
	by := []record.Filter{record.Equal("by_agent", name(agent))}
	if status != "" {
		by = append(by, record.Equal("by_status", status))
	}
	return by
}

// Day returns a page of the events of a day of UTC, oldest first: what happened. Of the
// query Limit, Cursor and Reverse count.
func (s *Store) Day(ctx context.Context, tenant string, day time.Time, q record.Query) (record.Page, error) {
	q.Filters = OfDay(day)
	return s.records.List(ctx, tenant, Ledger, q)
}

// OfDay finds the events of a day of UTC.
func OfDay(day time.Time) []record.Filter {
	return []record.Filter{record.Equal("by_date", day.UTC().Format(time.DateOnly))}
}
