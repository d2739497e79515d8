package natskv

import (
	"fmt"
	"reflect"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/kv/bucket"
)

// given are the options of a call as nats.go keeps them for itself: those are functions that set
// fields of a structure, both of which it exports under no name.
type given struct{ fields reflect.Value }

// gather has options of nats.go say what they set.
func gather[O any](list []O) (g given, err error) {
	for _, opt := range list {
		f := reflect.ValueOf(opt)
		if !f.IsValid() { // nil, which nats.go leaves out, too
			continue
		}
		t := f.Type()
		if t.Kind() != reflect.Func || t.NumIn() != 1 || t.NumOut() != 1 || t.In(0).Kind() != reflect.Pointer {
			return g, fmt.Errorf("%w: an option of type %T", ErrUnsupported, opt)
		}
		if !g.fields.IsValid() {
			g.fields = reflect.New(t.In(0).Elem()).Elem()
		}
		if err, _ := f.Call([]reflect.Value{g.fields.Addr()})[0].Interface().(error); err != nil {
			return g, err
		}
	}
	return g, nil
}

func (g given) truth(name string) bool {
	return g.fields.IsValid() && g.fields.FieldByName(name).Bool()
}

func (g given) number(name string) uint64 {
	if !g.fields.IsValid() {
		return 0
	}
	return g.fields.FieldByName(name).Uint()
}

func (g given) duration(name string) time.Duration {
	if !g.fields.IsValid() {
		return 0
	}
	return time.Duration(g.fields.FieldByName(name).Int())
}

// watching are the options of a watch.
func watching(list []jetstream.WatchOpt) (o bucket.WatchOptions, err error) {
	g, err := gather(list)
	if err != nil {
		return o, err
	}
	o = bucket.WatchOptions{
		History: g.truth("includeHistory"), UpdatesOnly: g.truth("updatesOnly"),
		IgnoreDeletes: g.truth("ignoreDeletes"), MetaOnly: g.truth("metaOnly"),
	}
	if from := g.number("resumeFromRevision"); from > 0 { // NATS says which is the first, and sends all from there on
		o.Resume, o.After, o.History, o.UpdatesOnly = true, from-1, false, false
	}
	return o, nil
}

// creating is the time to live that a new key has.
func creating(list []jetstream.KVCreateOpt) (time.Duration, error) {
	g, err := gather(list)
	if err != nil {
		return 0, err
	}
	return g.duration("ttl"), nil
}

// deleting are the options of a deletion, which a purge may be.
func deleting(list []jetstream.KVDeleteOpt, purge bool, o options) (bucket.DeleteOptions, error) {
	g, err := gather(list)
	switch ttl := g.duration("ttl"); {
	case err != nil:
		return bucket.DeleteOptions{}, err
	case ttl > 0 && !purge:
		return bucket.DeleteOptions{}, jetstream.ErrTTLOnDeleteNotSupported
	case ttl > 0:
		return bucket.DeleteOptions{}, fmt.Errorf("%w: PurgeTTL: markers last as long as the bucket's values, or until PurgeDeletes", ErrUnsupported)
	}
	revision := g.number("revision")
	return bucket.DeleteOptions{Expect: revision > 0, Revision: revision, Durability: o.durability}, nil
}

// purging is how old the markers are that PurgeDeletes removes; see [rpc.Bucket.PurgeDeletes].
func purging(list []jetstream.KVPurgeOpt) (older time.Duration, err error) {
	for _, opt := range list {
		switch o := opt.(type) {
		case nil:
		case jetstream.DeleteMarkersOlderThan:
			older = time.Duration(o)
		default:
			return 0, fmt.Errorf("%w: an option of type %T", ErrUnsupported, opt)
		}
	}
	return older, nil
}
