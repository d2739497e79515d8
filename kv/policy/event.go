package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv/document"
)

// hashName is what a hash begins with, and says which one it is.
const hashName = "sha256:"

// noHash is what the first event of a ledger has for the hash of the one before it.
const noHash = hashName + "0000000000000000000000000000000000000000000000000000000000000000"

// hashOf names the SHA-256 of some parts, one behind the other.
func hashOf(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	var room [len(noHash) + sha256.Size]byte
	sum := h.Sum(room[len(noHash):len(noHash)])
	return string(hex.AppendEncode(append(room[:0], hashName...), sum))
}

// HashJSON names the SHA-256 of the canonical form (RFC 8785) of a JSON text: two
// texts of one value have one hash.
func HashJSON(text []byte) (string, error) {
	canonical, err := document.Canonical(text)
	if err != nil {
		return "", err
	}
	return hashOf(canonical), nil
}

// isHash reports whether a text is sha256: and 64 hexadecimal digits in lower case.
func isHash(text string) bool {
	if len(text) != len(noHash) || !strings.HasPrefix(text, hashName) {
		return false
	}
	for i := len(hashName); i < len(text); i++ {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// placed are the fields of an event that only its place in the ledger can say, in
// the order in which canonical JSON has them.
var placed = [...]string{"event_id", "hash", "previous_hash", "timestamp"}

// emptyHash is the hash of an object without properties.
var emptyHash = quote(hashOf([]byte("{}")))

// givenHash returns the hash that an event has for what it gives under a name: inputs or
// outputs; nil: not that, or not the hash.
func givenHash(name string, given, hash json.RawMessage) (json.RawMessage, error) {
	if hash != nil {
		if text, _ := document.Text(hash); !isHash(text) {
			return nil, invalid(name+"_hash", "a hash is sha256: and 64 hexadecimal digits in lower case")
		}
		if given == nil {
			return hash, nil
		}
	}
	if given == nil {
		return emptyHash, nil
	}
	computed := quote(hashOf(given))
	if hash != nil && !bytes.Equal(hash, computed) {
		return nil, invalid(name+"_hash", "it is not the hash of the %s that are given", name)
	}
	return computed, nil
}

// prepareEvent returns what is known of an event before it has its place in the ledger:
// with the hashes of inputs and outputs, which may be given instead of those, and with
// stand-ins for what its place says.
func prepareEvent(canonical json.RawMessage) (json.RawMessage, error) {
	var given, hash [2]json.RawMessage // of inputs, of outputs
	for name, value := range document.Properties(canonical) {
		switch name := string(name[1 : len(name)-1]); name {
		case "inputs":
			given[0] = value
		case "inputs_hash":
			hash[0] = value
		case "outputs":
			given[1] = value
		case "outputs_hash":
			hash[1] = value
		case placed[0], placed[1], placed[2], placed[3]:
			return nil, invalid(name, "the ledger says it itself: leave it out")
		}
	}
	inputs, err := givenHash("inputs", given[0], hash[0])
	if err != nil {
		return nil, err
	}
	outputs, err := givenHash("outputs", given[1], hash[1])
	if err != nil {
		return nil, err
	}
	patch := make([]byte, 0, len(unplaced)+len(unplacedEnd)+len(inputs)+len(outputs)+64)
	patch = append(append(patch, unplaced...), inputs...)
	patch = append(append(append(patch, `,"outputs":null,"outputs_hash":`...), outputs...), unplacedEnd...)
	return document.Merge(canonical, patch), nil
}

// What stands in for the values of placed, around the hashes of inputs and outputs.
const (
	unplaced    = `{"event_id":"evt-00010101-000001","hash":"` + noHash + `","inputs":null,"inputs_hash":`
	unplacedEnd = `,"previous_hash":"` + noHash + `","timestamp":"0001-01-01T00:00:00Z"}`
)

// pieces are an event in canonical form, cut at the values of placed, which are not in
// them; nor is the name of hash.
type pieces [len(placed) + 1][]byte

// cutEvent cuts a canonical event, and returns what was cut out of it: the values
// of placed.
func cutEvent(stored []byte) (p pieces, values [len(placed)][]byte, err error) {
	if !json.Valid(stored) || stored[0] != '{' || stored[len(stored)-1] != '}' {
		return p, values, errors.New("it is not an object")
	}
	return cut(stored)
}

// cut is cutEvent of what is an object.
func cut(canonical []byte) (p pieces, values [len(placed)][]byte, err error) {
	n, from := 0, 0
	eachField(canonical, func(name []byte, start, value, end int) {
		if n == len(placed) || string(name) != placed[n] {
			return
		}
		values[n] = canonical[value:end]
		if string(name) == "hash" {
			value = start
		}
		p[n] = canonical[from:value]
		n, from = n+1, end
	})
	if n < len(placed) {
		err = errors.New("it has no " + placed[n])
	}
	p[n] = canonical[from:]
	return p, values, err
}

// eachField calls fn for the fields of an object, which has no space around its names
// where it is canonical: with the name as it stands, where the field begins, the comma
// before it included, where its value does, and where that ends.
func eachField(object []byte, fn func(name []byte, start, value, end int)) {
	depth, start, value := 0, 0, 0
	var name []byte
	for at := 0; at < len(object); at++ {
		switch object[at] {
		case '"':
			from := at
			for at++; object[at] != '"'; at++ {
				if object[at] == '\\' {
					at++
				}
			}
			if depth == 1 && value == 0 {
				name = object[from+1 : at]
			}
		case ':':
			if depth == 1 {
				value = at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 && value > 0 {
				fn(name, start, value, at)
			}
		case ',':
			if depth == 1 {
				fn(name, start, value, at)
				start, value = at, 0
			}
		}
	}
}

// hash is that of the event with some values of placed; the one of hash itself
// makes no difference.
func (p *pieces) hash(values [len(placed)][]byte) string {
	return hashOf(p[0], values[0], p[1], p[2], values[2], p[3], values[3], p[4])
}

// behind returns the event in the place that follows a head, its id, and the head that it
// makes.
func (p *pieces) behind(h Head, now time.Time) (event json.RawMessage, id EventID, next Head) {
	at := h.time(now)
	id = h.next(at)
	size := 256 // of what is filled in
	for _, piece := range p {
		size += len(piece)
	}
	event = append(make([]byte, 0, size), p[0]...)
	event = append(id.append(append(event, '"')), '"')
	event = append(event, p[1]...)
	own := len(event)
	event = append(append(append(event, `,"hash":"`...), noHash...), '"')
	rest := len(event)
	event = append(append(event, p[2]...), '"')
	event = append(append(event, h.previous()...), '"')
	event = append(append(event, p[3]...), '"')
	event = append(append(event, document.FormatInstant(at)...), '"')
	event = append(event, p[4]...)
	hash := hashOf(event[:own], event[rest:])
	copy(event[rest-1-len(hash):], hash)
	return event, id, Head{h.Events + 1, id, hash, at}
}

// quote is a text as JSON has it, if nothing of it is to be escaped.
func quote(text string) []byte { return append(append([]byte{'"'}, text...), '"') }

func invalid(field, format string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
