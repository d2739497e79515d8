package governance

import (
	"crypto/rand"
	"errors"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// contextIdentity returns the identity whose private key the daemon holds for a context.
// Where it holds none it gets one, which is on disk before anybody hears of it.
func (c *call) contextIdentity(id codec.ContextID) (codec.Identity, error) {
	key := keys.ContextIdentity{Context: id}
	held, err := engine.Get(c.Client.Store(c.Ctx), key)
	if err == nil && held.PrivateKey.Valid {
		return group.IdentityOf(held.PrivateKey.V), nil
	}
	var b engine.Batch
	switch {
	case errors.Is(err, engine.ErrNotFound):
		engine.ExpectAbsent(&b, key)
	case err != nil:
		return codec.Identity{}, cli.Refused(err, "name the IDENTITY: what this daemon holds of the context is not for this user to read")
	default:
		engine.Expect(&b, key, held)
	}
	var seed codec.Secret
	_, _ = rand.Read(seed[:]) // never fails
	held.PrivateKey = codec.Some(seed)
	engine.Put(&b, key, held)
	return group.IdentityOf(seed), c.Client.Store(c.Ctx).Apply(&b)
}
