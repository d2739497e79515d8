package op

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// nested, and under other names than the protocol's.
type within struct {
	Key   string
	Value []byte
}

type arguments struct {
	within
	Guarding
	Tenant     string
	Durability engine.Durability
	TTL        *int64 `wire:"ttl_seconds"`
	More       int
}

func doNothing[In, Out any](context.Context, struct{}, *In) (out Out, err error) { return out, nil }

func TestFieldsAreCarriedByTheirNames(t *testing.T) {
	by := mappingOf(new(stoav1.KvPutRequest), reflect.TypeFor[arguments]())
	ttl := int64(7)
	for _, a := range []arguments{{}, {within{"k", []byte("v")}, Guarding{[]lock.Guard{{Name: "task:1", Token: 7}}}, "t", engine.WAL, &ttl, 0}} {
		m, back := new(stoav1.KvPutRequest), arguments{}
		require.NoError(t, by.fill(m, &a))
		b, err := proto.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, []string{a.Key, a.Tenant}, []string{string(m.GetKey()), string(m.GetTenant())})
		m.Reset()
		require.NoError(t, proto.Unmarshal(b, m))
		require.NoError(t, by.parse(m, &back))
		if len(back.Guards) == 0 {
			back.Guards = nil
		}
		require.Equal(t, a, back)
	}
	require.EqualError(t, by.fill(new(stoav1.KvPutRequest), &arguments{More: 1}), "op: stoav1.KvPutRequest has no field for More")
	require.Equal(t, &FieldError{"durability", "no durability 9"}, by.parse(&stoav1.KvPutRequest{Durability: 9}, new(arguments)))
}

func TestAFieldOfTheMessageThatGoLacksIsAMistakeOfTheProgram(t *testing.T) {
	type lacking struct{ Tenant, Key string }
	require.PanicsWithValue(t, "op: stoav1.KvPutRequest has a field Value, and op.lacking has none", func() {
		New(Method{Name: "Kv.Put", Role: access.Writer}, doNothing[lacking, Nothing]).Plan()
	})
	type other struct {
		Tenant, Key string
		Durability  engine.Durability
		Value       int
	}
	require.PanicsWithValue(t, "op: no way from int to the field value, which is []uint8", func() {
		New(Method{Name: "Kv.Put", Role: access.Writer}, doNothing[other, Nothing]).Plan()
	})
	require.Panics(t, func() { New(Method{Name: "Kv.None", Role: access.Writer}, doNothing[Nothing, Nothing]).Plan() }, "the protocol has no such method")
}

func TestIdsThatMakeNoSenseAreRefused(t *testing.T) {
	type one struct{ ContextID codec.ContextID }
	type optional struct {
		ContextID codec.ContextID `wire:",optional"`
	}
	type hash struct {
		ContextID codec.ContextID `wire:",hash"`
	}
	m := func(b []byte) proto.Message { return &stoav1.DagGetContextRequest{ContextId: b} }
	full := codec.ContextID{1}
	for _, c := range []struct {
		b                   []byte
		one, optional, hash bool
	}{
		{nil, false, true, false}, {make([]byte, 31), false, false, false}, {make([]byte, 32), false, true, true}, {full[:], true, true, true},
	} {
		// By fields, since an only field of another type has a mapping of its own.
		var err error
		_, err = parsed[one](t, m(c.b))
		require.Equal(t, c.one, err == nil, "%v", err)
		_, err = parsed[optional](t, m(c.b))
		require.Equal(t, c.optional, err == nil, "%v", err)
		_, err = parsed[hash](t, m(c.b))
		require.Equal(t, c.hash, err == nil, "%v", err)
	}
	filled := new(stoav1.DagGetContextRequest)
	require.NoError(t, mappingOf(filled, reflect.TypeFor[optional]()).fill(filled, &optional{}))
	require.Empty(t, filled.GetContextId(), "none is no field")
	require.NoError(t, mappingOf(filled, reflect.TypeFor[hash]()).fill(filled, &hash{}))
	require.Len(t, filled.GetContextId(), 32)
	id, err := parsed[codec.ContextID](t, m(full[:]))
	require.NoError(t, err)
	require.Equal(t, full, id)
	heads, err := parsed[[]codec.OpID](t, &stoav1.NamespaceHeadsResponse{Heads: [][]byte{full[:]}})
	require.NoError(t, err)
	require.Equal(t, []codec.OpID{codec.OpID(full)}, heads)
	_, err = parsed[[]codec.OpID](t, &stoav1.NamespaceHeadsResponse{Heads: [][]byte{{1}}})
	require.Equal(t, &FieldError{"heads", "1 bytes instead of 32"}, err)
}

func parsed[V any](t *testing.T, m proto.Message) (v V, err error) {
	t.Helper()
	err = mappingOf(m, reflect.TypeFor[V]()).parse(m, &v)
	return v, err
}

func TestNegativeNumbersAreNoneWhereTheFieldHasNone(t *testing.T) {
	type page struct {
		After string
		Limit int
	}
	m := new(stoav1.KvListTenantsRequest)
	for n, want := range map[int]uint32{-1: 0, 0: 0, 7: 7} {
		m.Reset()
		require.NoError(t, mappingOf(m, reflect.TypeFor[page]()).fill(m, &page{Limit: n}))
		require.Equal(t, want, m.GetLimit())
	}
}
