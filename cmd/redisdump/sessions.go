package redisdump

import (
	"github.com/stoadb/stoa/kv/session"
)

// sessionShapes are the shapes of the fields of a session.
var sessionShapes = map[string]shape{"roles": listed, "permissions": listed, "ttl_seconds": integer, "sliding": boolean}

// session translates a session, whose fields are those of the document.
func (t *translator) session(name, id string, v *Value) error {
	if err := v.wanted(Hash); err != nil {
		return err
	}
	doc, err := typed(v.Fields, sessionShapes)
	if err != nil {
		return err
	}
	for field, value := range doc { // as a hash says that there is none
		if value == "" {
			delete(doc, field)
		}
	}
	doc["session_id"] = id
	fallback(doc, "created_at", stamp(t.dump.Taken))
	if !v.Expires.IsZero() {
		fallback(doc, "expires_at", stamp(v.Expires))
	}
	text := encode(doc)
	until, err := session.Importable(text, t.now)
	if err != nil {
		return refusedField("session", err)
	}
	if !until.After(t.now) {
		return t.left(name, Over)
	}
	t.Sessions = append(t.Sessions, Document{t.at(name), session.HandleOf(id), text})
	return nil
}
