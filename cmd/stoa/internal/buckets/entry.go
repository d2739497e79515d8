package buckets

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

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
	d := entryDoc{Key: e.Key, Op: e.Op.String(), Revision: e.Revision, CreatedAt: cli.Instant(e.Created), ExpiresAt: cli.Instant(e.Expires)}
	if values && e.Op == bucket.OpPut {
		d.Value, d.Bytes = cli.Content(e.Value)
	}
	return d
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

// parseRevision reads an argument, or a flag, that is a revision.
func parseRevision(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("%s: %q is no revision, which is a whole number", what, text), "`stoa bucket get --json` and `stoa bucket history` print the revisions of a key")
	}
	return n, nil
}
