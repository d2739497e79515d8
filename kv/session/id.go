package session

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/stoadb/stoa/kv/document"
)

// An id that is made has idBytes at random behind idPrefix, by which scanners for secrets know
// it, in letters and digits of one case.
const (
	idPrefix = "sess-"
	idBytes  = 20
	maxID    = 128
)

var idText = base32.StdEncoding.WithPadding(base32.NoPadding)

func newID(random io.Reader) (string, error) {
	b := make([]byte, idBytes)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", fmt.Errorf("session: no randomness for an id: %w", err)
	}
	return idPrefix + strings.ToLower(idText.EncodeToString(b)), nil
}

// handleMark begins a handle. No id begins with it.
const handleMark = "@"

// HandleOf is the handle of the session of an id. It names the session, and opens nothing.
func HandleOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return handleMark + hex.EncodeToString(sum[:16])
}

var (
	aHandle = regexp.MustCompile(`^@[0-9a-f]{32}$`)
	anID    = regexp.MustCompile(`^[A-Za-z0-9_.~+/=-]+$`)
)

// checkID refuses what no session has for an id, and does not repeat it.
func checkID(id string) error {
	if id == "" || len(id) > maxID || !anID.MatchString(id) {
		e := malformed(fieldID, "an id has 1 to %d bytes, which are letters, digits and any of _ . ~ + / = -", maxID)
		e.Limit, e.Have = maxID, uint64(len(id))
		return e
	}
	return nil
}

// handled is the handle of the session that an id or a handle is of, and which of them it is.
func handled(ref string) (handle string, byID bool, err error) {
	if !strings.HasPrefix(ref, handleMark) {
		return HandleOf(ref), true, checkID(ref)
	}
	if !aHandle.MatchString(ref) {
		return "", false, malformed(fieldHandle, "a handle is @ and 32 hex digits")
	}
	return ref, false, nil
}

// prepare gives a document that has an id the handle that follows from it. One that came
// without secrets has its handle alone.
func prepare(doc json.RawMessage) (json.RawMessage, error) {
	value := document.Field(doc, document.Path{fieldID})
	if value == nil {
		return doc, nil
	}
	id, _ := document.Text(value) // what is no text is no id
	if err := checkID(id); err != nil {
		return nil, err
	}
	handle := document.FromText(HandleOf(id))
	switch has := document.Field(doc, document.Path{fieldHandle}); {
	case has == nil:
		return document.With(doc, document.Path{fieldHandle}, handle), nil
	case string(has) != string(handle):
		return nil, malformed(fieldHandle, "it is not that of the session_id: leave it out")
	}
	return doc, nil
}
