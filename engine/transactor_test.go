package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// others is a Transactor: between a Begin and the Write that follows, others may come.
type others struct {
	*sink
	come  func() // once, after the first read
	moved bool
	begun int
}

func (o *others) Begin() { o.begun, o.moved = o.begun+1, false }

func (o *others) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	v, err := o.sink.Get(dst, col, key)
	if o.come != nil {
		o.come()
		o.come, o.moved = nil, true
	}
	return v, err
}

func (o *others) Write(ops []byte, sync bool) error {
	if o.moved {
		return engine.ErrMoved
	}
	return o.sink.Write(ops, sync)
}

func TestAGroupIsMadeAgainWhereOthersHaveChangedWhatItRead(t *testing.T) {
	s := &others{sink: newSink()}
	s.come = func() { s.rows["State/k"] = "theirs" }
	c := engine.NewCommitter(s)
	var seen []string
	answers := together(t, c,
		update(func(g engine.Getter, b *engine.Batch) error {
			seen = append(seen, read(g, column.State, "k"))
			b.Put(column.State, []byte("copy"), nil)
			return nil
		}),
		apply(filled(func(b *engine.Batch) {
			b.ExpectAbsent(column.State, []byte("k"))
			b.Put(column.State, []byte("mine"), nil)
		})),
		apply(puts(engine.WAL, "a")),
	)
	require.NoError(t, answers[0].err)
	require.ErrorIs(t, answers[1].err, engine.ErrConflict, "it held at first")
	require.NoError(t, answers[2].err)
	require.Equal(t, []string{"none", "theirs"}, seen)
	require.Equal(t, map[string]string{"State/k": "theirs", "State/copy": "", "State/a": "va"}, s.rows)
	require.Equal(t, 3, s.begun, "with that of the write for which they waited")
}

func TestAWriterThatOthersAlwaysComeBeforeIsTold(t *testing.T) {
	s := &others{sink: newSink()}
	s.fail = func(write) error { return engine.ErrMoved }
	require.ErrorIs(t, engine.NewCommitter(s).Apply(puts(engine.WAL, "a")), engine.ErrMoved)
	require.Equal(t, 100, s.begun)
}

func TestWhatMayHaveBeenMadeAndWhatHadNoAnswerIsNotMadeAgain(t *testing.T) {
	for _, fate := range []error{engine.ErrUndetermined, engine.ErrUnavailable} {
		s := newSink()
		s.fail = func(write) error { return fate }
		c := engine.NewCommitter(s)
		calls := 0
		answers := together(t, c,
			update(func(_ engine.Getter, b *engine.Batch) error {
				calls++
				b.Put(column.State, []byte("n"), nil)
				return nil
			}),
			apply(filled(func(b *engine.Batch) {
				b.Expect(column.State, []byte("n"), []byte("as of before"))
				b.Put(column.State, []byte("x"), nil)
			})),
			apply(puts(engine.WAL, "a")),
		)
		require.ErrorIs(t, answers[0].err, fate)
		require.ErrorIs(t, answers[1].err, fate, "what it has read may not be there")
		require.ErrorIs(t, answers[2].err, fate)
		require.Equal(t, 1, calls)
		require.Len(t, s.writes, 1)
	}
}
