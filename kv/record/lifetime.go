package record

import (
	"encoding/json"
	"time"

	"github.com/stoadb/stoa/kv"
)

// lifetime is how a document is put, so that it is there for as long as the declaration
// says. made is that there was none, or that it comes anew, by an import.
func (c *Collection) lifetime(doc json.RawMessage, made bool) kv.PutOptions {
	at, _ := instant(doc, c.expires)
	switch {
	case c.expires != nil:
		return kv.PutOptions{Expires: at}
	case made || c.Renew:
		return kv.PutOptions{TTL: time.Duration(c.TTL)}
	}
	return kv.PutOptions{KeepTTL: true}
}

// checkLifetime refuses a stored document whose row is gone at another time than its own
// field says.
func (c *Collection) checkLifetime(d Doc) error {
	if c.expires == nil {
		return nil
	}
	if at, _ := instant(d.JSON, c.expires); !kv.Moment(at).Equal(d.Expires) {
		return malformed(c.Expires, "its row is not gone when the field says")
	}
	return nil
}
