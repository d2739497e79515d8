package buckets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// entryDoc is a revision of a key, as JSON.
type entryDoc struct {
	Key       string          `json:"key"`
	Op        string          `json:"op"`
	Revision  uint64          `json:"revision,string"`
	Value     json.RawMessage `json:"value,omitempty"`        // if it is JSON
	Bytes     *[]byte         `json:"value_base64,omitempty"` // else
	CreatedAt string          `json:"created_at"`
	ExpiresAt string          `json:"expires_at,omitempty"`
}

func newEntryDoc(e *rpc.BucketEntry, values bool) entryDoc {
	d := entryDoc{Key: e.Key, Op: e.Op.String(), Revision: e.Revision, CreatedAt: shownTime(e.Created), ExpiresAt: shownTime(e.Expires)}
	if values && e.Op == bucket.OpPut {
		if d.Value = asJSON(e.Value); d.Value == nil {
			d.Bytes = &e.Value
		}
	}
	return d
}

// asJSON returns a value on one line if it is JSON, else nil.
func asJSON(value []byte) json.RawMessage {
	var b bytes.Buffer
	if !utf8.Valid(value) || json.Compact(&b, value) != nil {
		return nil
	}
	return b.Bytes()
}

// value is the value for people: bytes that are no text are quoted.
func (d *entryDoc) value() string {
	if d.Bytes != nil {
		return cli.Plain(string(*d.Bytes))
	}
	if d.Value == nil {
		return ""
	}
	return cli.Plain(string(d.Value))
}

// writeLine writes the revision with the beginning of its value.
func (d *entryDoc) writeLine(w io.Writer) {
	fmt.Fprintf(w, "%d  %s  %s", d.Revision, d.Op, strconv.Quote(d.Key))
	if value := d.value(); value != "" {
		fmt.Fprintf(w, "  %s", cli.Shorten(value, cli.LineText))
	}
	if d.ExpiresAt != "" {
		fmt.Fprintf(w, "  until %s", d.ExpiresAt)
	}
	fmt.Fprintln(w)
}

// shownTime is a time for people and in JSON; "": there is none.
func shownTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// parseRevision reads an argument, or a flag, that is a revision.
func parseRevision(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("%s: %q is no revision, which is a whole number", what, text), "`stoa bucket get --json` and `stoa bucket history` print the revisions of a key")
	}
	return n, nil
}
