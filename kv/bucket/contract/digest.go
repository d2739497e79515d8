package contract

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/stoadb/stoa/kv/document"
)

// Digest is the same for two contracts if and only if [Compare] finds no change between
// them: the SHA-256 of [Contract.Matter], in base64url without padding.
func (c *Contract) Digest() string { return c.digest }

func (c *Contract) digested() string { return digestOf(c.Matter()) }

// digestOf is the SHA-256 of canonical JSON, in base64url without padding.
func digestOf(text json.RawMessage) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Matter is what matters of a contract, as canonical JSON: the service, and each alias with
// its defaults filled in, and with its schema in place of the schema's name.
func (c *Contract) Matter() json.RawMessage {
	out := []byte(`{"kv":{`)
	for i, a := range c.Aliases {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, document.FromText(a.Name)...), ':')
		out = a.append(out, a.Schema.text)
	}
	out = append(out, `},"service":`...)
	return append(append(out, document.FromText(c.Service)...), '}')
}

// append writes the alias as canonical JSON, with a value in the place of the schema.
func (a *Alias) append(out []byte, schema json.RawMessage) []byte {
	out = strconv.AppendInt(append(out, `{"history":`...), int64(a.History), 10)
	out = append(append(out, `,"maxValueBytes":`...), orNull(a.MaxValueBytes)...)
	out = append(append(out, `,"purpose":`...), document.FromText(a.Purpose)...)
	out = strconv.AppendBool(append(out, `,"required":`...), a.Required)
	out = append(append(out, `,"schema":`...), schema...)
	out = strconv.AppendInt(append(out, `,"ttlMs":`...), a.TTLMs, 10)
	return append(out, '}')
}

// orNull is a number as JSON, null where 0 stands for none.
func orNull(n int64) json.RawMessage {
	if n == 0 {
		return json.RawMessage("null")
	}
	return strconv.AppendInt(nil, n, 10)
}
