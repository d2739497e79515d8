package engine_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func panics(v any) request {
	return update(func(_ engine.Getter, b *engine.Batch) error {
		b.Put(column.State, []byte("x"), nil)
		panic(v)
	})
}

func exits() request {
	return update(func(engine.Getter, *engine.Batch) error { runtime.Goexit(); return nil })
}

func TestAPanicOfAnUpdateIsItsCallersAlone(t *testing.T) {
	s := newSink()
	c := engine.NewCommitter(s)
	require.PanicsWithValue(t, "alone", func() { _ = panics("alone")(c) })
	answers := together(t, c, panics("first"), apply(puts(engine.Synced, "a")), panics("second"), apply(puts(engine.Synced, "b")), panics("last"))
	require.Equal(t, []answer{{panicked: "first"}, {}, {panicked: "second"}, {}, {panicked: "last"}}, answers)
	require.Equal(t, []string{"+a", "+b"}, s.ops())
	requireUsable(t, c, s)
}

func TestAPanicOfAnUpdateThatIsRetried(t *testing.T) {
	s := newSink()
	s.fail = func(w write) error {
		if len(w.ops) > 1 {
			return errDisk
		}
		return nil
	}
	c := engine.NewCommitter(s)
	calls := 0
	second := update(func(_ engine.Getter, b *engine.Batch) error {
		b.Put(column.State, []byte("x"), nil)
		if calls++; calls == 2 {
			panic("second call")
		}
		return nil
	})
	answers := together(t, c, apply(puts(engine.Synced, "a")), second, apply(puts(engine.Synced, "b")))
	require.Equal(t, []answer{{}, {panicked: "second call"}, {}}, answers)
	require.Equal(t, map[string]string{"State/a": "va", "State/b": "vb"}, s.rows)
	requireUsable(t, c, s)
}

func TestAPanicOfTheSinkDoesNotLeaveOthersWaiting(t *testing.T) {
	s := newSink()
	s.fail = func(write) error { panic("sink") }
	c := engine.NewCommitter(s)
	require.Equal(t, answer{panicked: "sink"}, ask(c, apply(puts(engine.Synced, "a"))))
	answers := together(t, c, apply(puts(engine.Synced, "a")), apply(puts(engine.Synced, "b")),
		update(func(engine.Getter, *engine.Batch) error { return errDisk }))
	require.Equal(t, answer{panicked: "sink"}, answers[0], "who commits")
	require.ErrorIs(t, answers[1].err, engine.ErrAbandoned)
	require.ErrorIs(t, answers[2].err, errDisk, "its own error")
	requireUsable(t, c, s)
}

func TestAPanicOfTheSinkAmongRetriesIsTheGuiltyOnesAlone(t *testing.T) {
	s := newSink()
	s.fail = func(w write) error {
		switch {
		case len(w.ops) > 1:
			return errDisk
		case w.ops[0] == "+b":
			panic("sink")
		}
		return nil
	}
	c := engine.NewCommitter(s)
	answers := together(t, c, apply(puts(engine.Synced, "z")), apply(puts(engine.Synced, "a")), apply(puts(engine.Synced, "b")), apply(puts(engine.Synced, "c")))
	require.Equal(t, []answer{{}, {}, {panicked: "sink"}, {}}, answers, "who has it written is the one whose batch it is")
	require.Equal(t, map[string]string{"State/z": "vz", "State/a": "va", "State/c": "vc"}, s.rows)
	requireUsable(t, c, s)
}

func TestTheEndOfALeadersGoroutineDoesNotLeaveOthersWaiting(t *testing.T) {
	s := newSink()
	c := engine.NewCommitter(s)
	require.True(t, ask(c, exits()).exited)
	answers := together(t, c, apply(puts(engine.Synced, "a")), exits(), apply(puts(engine.Synced, "b")))
	require.True(t, answers[0].exited, "who commits runs the update")
	require.ErrorIs(t, answers[1].err, engine.ErrAbandoned)
	require.ErrorIs(t, answers[2].err, engine.ErrAbandoned)
	require.Empty(t, s.rows)
	requireUsable(t, c, s)
}

func TestStopAfterAPanicReturns(t *testing.T) {
	c := engine.NewCommitter(newSink())
	ask(c, panics("x"))
	ask(c, exits())
	c.Stop(engine.ErrClosed)
	require.ErrorIs(t, c.Apply(puts(engine.Synced, "a")), engine.ErrClosed)
}

// requireUsable demands that c commits as if nothing had happened.
func requireUsable(t testing.TB, c *engine.Committer, s *sink) {
	t.Helper()
	s.fail, s.writes = nil, nil
	requireAllWell(t, together(t, c, apply(puts(engine.Synced, "m")), apply(puts(engine.Synced, "n"))))
	require.Len(t, s.writes, 1)
	require.NotContains(t, s.rows, "State/x")
}
