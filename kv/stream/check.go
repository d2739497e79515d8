package stream

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/kv"
)

// Check looks at the rows of the streams of one tenant, in their order, for what this
// package does not write so. That rows of package kv agree with each other is not looked
// at; kv.Check does that. The zero Check has seen none. It is not safe for concurrent use.
type Check struct {
	streams   map[string]*seenStream
	consumers map[string]*seenConsumer // by the keys of their records
}

// seenStream is which rows of a stream there are.
type seenStream struct{ head, record bool }

// seenConsumer is which rows of a consumer there are.
type seenConsumer struct {
	group, kept, record bool
	state               state
	dead                uint64 // dead letters
}

func (c *Check) stream(name string) *seenStream {
	if c.streams == nil {
		c.streams = map[string]*seenStream{}
	}
	if c.streams[name] == nil {
		c.streams[name] = &seenStream{}
	}
	return c.streams[name]
}

func (c *Check) consumer(key string) *seenConsumer {
	if c.consumers == nil {
		c.consumers = map[string]*seenConsumer{}
	}
	if c.consumers[key] == nil {
		c.consumers[key] = &seenConsumer{}
	}
	return c.consumers[key]
}

// Row says what is wrong with a row; "": nothing.
func (c *Check) Row(row kv.Row, value []byte) string {
	switch row.Shape {
	case kv.ShapeGroup:
		return c.group(string(row.Name), string(row.Key))
	case kv.ShapeKept:
		return c.kept(string(row.Key), value)
	case kv.ShapeHead:
		if row.Kind != kv.KindStream || checkName("", string(row.Key)) != nil {
			return fmt.Sprintf("%q: no stream is called so", row.Key)
		}
		c.stream(string(row.Key)).head = true
	case kv.ShapePending:
		return c.pending(row, value)
	case kv.ShapeEntry:
		return entryFault(row, value)
	case kv.ShapeRecord:
		return c.record(row, value)
	case kv.ShapeScore, kv.ShapeJob, kv.ShapeRevision:
		return fmt.Sprintf("a row of shape %s, and streams have none", row.Shape)
	}
	return ""
}

func (c *Check) group(stream, name string) string {
	if checkName("", stream) != nil || checkName("", name) != nil {
		return fmt.Sprintf("a group %q of %q: no consumer of a stream is called so", name, stream)
	}
	c.consumer(consumerKey(stream, name)).group = true
	return ""
}

func (c *Check) kept(key string, value []byte) string {
	if key == tokensKept {
		if _, err := parseToken(value); err != nil {
			return err.Error()
		}
		return ""
	}
	if n, ok := parseKey(key); !ok || n.consumer == "" || n.dead != 0 {
		return fmt.Sprintf("something is kept under %q, which is no consumer", key)
	}
	seen := c.consumer(key)
	seen.kept = true
	var err error
	if seen.state, err = parseState(value); err != nil {
		return err.Error()
	}
	return ""
}

func (c *Check) pending(row kv.Row, value []byte) string {
	p, err := kv.PendingOf(row, value)
	if err != nil {
		return "" // kv.Check finds it
	}
	h, err := holdingOf(p)
	if err != nil {
		return err.Error()
	}
	if of := c.consumer(consumerKey(string(row.Name), string(row.Group))); of.kept && h.token > of.state.token() {
		return fmt.Sprintf("entry %d has token %d, and the last of the consumer is %d", p.Number, h.token, of.state.token())
	}
	return ""
}

func entryFault(row kv.Row, value []byte) string {
	e, err := kv.EntryOf(row, value)
	if err == nil {
		_, err = entryOf(e)
	}
	if err != nil {
		return fmt.Sprintf("entry %d: %s", row.Number, err)
	}
	return ""
}

func (c *Check) record(row kv.Row, value []byte) string {
	r, _, err := kv.RecordOf(row, value)
	if err != nil || r.Kind != kv.Put {
		return "" // kv.Check finds it
	}
	n, ok := parseKey(string(r.Key))
	switch {
	case !ok:
		return fmt.Sprintf("%q is no stream, no consumer and no dead letter", r.Key)
	case !r.Expires.IsZero():
		return "it expires, and nothing of streams does"
	case n.consumer == "":
		c.stream(n.stream).record = true
		if len(r.Value) != 1 || r.Value[0] != version {
			return fmt.Sprintf("not a stream of version %d", version)
		}
	case n.dead == 0:
		c.consumer(string(r.Key)).record = true
		_, _, err = parseConfig(n.consumer, r.Value)
	default:
		c.consumer(consumerKey(n.stream, n.consumer)).dead++
		_, err = parseDead(n.dead, r.Value)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// End says which rows are missing of a stream or a consumer, once all rows were looked at; "":
// none.
func (c *Check) End() string {
	for _, name := range slices.Sorted(maps.Keys(c.streams)) {
		if s := c.streams[name]; !s.head || !s.record {
			return fmt.Sprintf("stream %q lacks its head or its record", name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.consumers)) {
		s := c.consumers[key]
		n, _ := parseKey(key)
		switch {
		case !s.group || !s.kept || !s.record:
			return fmt.Sprintf("%s lacks its group, its state or its record", key)
		case c.streams[n.stream] == nil:
			return fmt.Sprintf("%s is of a stream that is not there", key)
		case s.state.dead != s.dead:
			return fmt.Sprintf("%s counts %d dead letters, there are %d", key, s.state.dead, s.dead)
		}
	}
	return ""
}
