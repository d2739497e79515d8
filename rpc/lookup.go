package rpc

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/record"
)

// literalPrefix is what literal keys begin with that are no collection's.
const literalPrefix = "ade:"

// literals are the beginnings of literal keys, and who knows what those stand for. All others
// are those of collections.
var literals = []struct {
	prefix string
	lookup func(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error)
}{
	{"ade:task:", ofTasks},
	{"ade:approval:", ofTasks},
	{"ade:lock:", func(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error) {
		return c.Locks(tenant).Lookup(ctx, key)
	}},
	{"ade:session:", func(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error) {
		return c.Sessions(tenant).Lookup(ctx, key)
	}},
	{"ade:ratelimit:", func(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error) {
		return c.Limits(tenant).Lookup(ctx, key)
	}},
	{"ade:events:", func(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error) {
		return c.Events(tenant).Lookup(ctx, key)
	}},
	{"ade:job:", func(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error) {
		return c.Jobs(tenant).Lookup(ctx, key)
	}},
	{"ade:config:", ofSettings},
	{"ade:feature:", ofSettings},
}

func ofTasks(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error) {
	return c.Tasks(tenant).Lookup(ctx, key)
}

// ofSettings is what a setting says now, whether the tenant has set it or not.
func ofSettings(ctx context.Context, c *Client, tenant, key string) (json.RawMessage, error) {
	s, err := c.Settings(tenant).Get(ctx, key)
	return s.Value, err
}

// Lookup returns what a literal key of a tenant stands for, of whatever it is: an object of a
// hash, a list of a set, [[member, score], …] of a sorted set, the entries of a stream, what a
// string is, the document of a record. Braces in a key that begins with ade: are left out. The
// ids of sessions, which are secret, are those that [agents.Sessions.Lookup] returns. tenant is
// as in [Client.Records]. It fails as the Lookup of its capability does, and with
// record.ErrInvalidKey for a key of none.
func (c *Client) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	plain := kv.Untagged(key)
	if !strings.HasPrefix(plain, literalPrefix) {
		return c.Records(tenant).Lookup(ctx, key)
	}
	var known []string
	for _, of := range literals {
		if strings.HasPrefix(plain, of.prefix) {
			return of.lookup(ctx, c, tenant, plain)
		}
		known = append(known, of.prefix)
	}
	return nil, &record.Error{Code: record.CodeInvalidKey, Field: "key", Reason: "no literal key begins like this; they begin with " + strings.Join(known, ", ") + ", or are those of collections"}
}
