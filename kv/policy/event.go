package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

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
	sum := make([]byte, 0, sha256.Size)
	return hashName + hex.EncodeToString(h.Sum(sum))
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

var hashGrammar = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// placed are the fields of an event that only its place in the ledger can say, in
// the order in which canonical JSON has them.
var placed = [...]string{"event_id", "hash", "previous_hash", "timestamp"}

// takeHash puts the hash of what an event gives under a name into its place, and
// takes away what was given: it is stored nowhere.
func takeHash(event map[string]json.RawMessage, name string) error {
	field := name + "_hash"
	given, has := event[name]
	delete(event, name)
	var hash string
	if raw, ok := event[field]; ok {
		if json.Unmarshal(raw, &hash) != nil || !hashGrammar.MatchString(hash) {
			return invalid(field, "a hash is sha256: and 64 hexadecimal digits in lower case")
		}
	} else if !has {
		given, has = json.RawMessage("{}"), true
	}
	if !has {
		return nil
	}
	computed, err := HashJSON(given)
	if err != nil {
		return invalid(name, "%s", err)
	}
	if hash != "" && hash != computed {
		return invalid(field, "it is not the hash of the %s that are given", name)
	}
	event[field] = json.RawMessage(`"` + computed + `"`)
	return nil
}

// prepareEvent returns what is known of an event before it has its place in the ledger:
// with the hashes of inputs and outputs, which may be given instead of those, and with
// stand-ins for the hashes of the chain.
func prepareEvent(canonical json.RawMessage) (json.RawMessage, error) {
	var event map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &event); err != nil {
		return nil, invalid("", "an event is an object")
	}
	for _, name := range placed {
		if _, given := event[name]; given {
			return nil, invalid(name, "the ledger says it itself: leave it out")
		}
	}
	event["hash"], event["previous_hash"] = quote(noHash), quote(noHash)
	for _, name := range []string{"inputs", "outputs"} {
		if err := takeHash(event, name); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	return document.Canonical(text)
}

// pieces are an event in canonical form, cut at the values of placed, which are not in
// them; nor is the name of hash.
type pieces [len(placed) + 1][]byte

// cutEvent cuts a canonical event, and returns what was cut out of it: the values
// of placed.
func cutEvent(canonical []byte) (p pieces, values [len(placed)][]byte, err error) {
	n, from := 0, 0
	err = eachField(canonical, func(name string, start, value, end int) {
		if n == len(placed) || name != placed[n] {
			return
		}
		values[n] = canonical[value:end]
		if name == "hash" {
			value = start
		}
		p[n] = canonical[from:value]
		n, from = n+1, end
	})
	if err == nil && n < len(placed) {
		err = errors.New("it has no " + placed[n])
	}
	p[n] = canonical[from:]
	return p, values, err
}

// eachField calls fn for the fields of a canonical object: with the name, where
// the field begins, the comma before it included, where its value does, and where
// that ends.
func eachField(canonical []byte, fn func(name string, start, value, end int)) error {
	dec := json.NewDecoder(bytes.NewReader(canonical))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is not an object")
	}
	for dec.More() {
		start := int(dec.InputOffset())
		name, err := dec.Token()
		if err != nil {
			return err
		}
		value := int(dec.InputOffset()) + 1
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return err
		}
		fn(name.(string), start, value, int(dec.InputOffset()))
	}
	_, err := dec.Token()
	return err
}

// hash is that of the event with some values of placed; the one of hash itself
// makes no difference.
func (p *pieces) hash(values [len(placed)][]byte) string {
	return hashOf(p[0], values[0], p[1], p[2], values[2], p[3], values[3], p[4])
}

// chained returns an event that has its id and its time behind the one that has a hash,
// and its own hash.
func chained(canonical []byte, previous string) (event json.RawMessage, hash string, err error) {
	p, values, err := cutEvent(canonical)
	if err != nil {
		return nil, "", err
	}
	values[2] = quote(previous)
	hash = p.hash(values)
	values[1] = append([]byte(`,"hash":`), quote(hash)...)
	event = append(event, p[0]...)
	for n, value := range values {
		event = append(append(event, value...), p[n+1]...)
	}
	return event, hash, nil
}

// quote is a text as JSON has it, if nothing of it is to be escaped.
func quote(text string) []byte { return append(append([]byte{'"'}, text...), '"') }

func invalid(field, format string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
