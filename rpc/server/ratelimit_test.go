package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/rpc"
)

// startLimits starts a daemon that has limits and settings, by a clock of its own.
func startLimits(t testing.TB) (*testDaemon, *kvtest.Clock) {
	eng, clock := mem.New(), kvtest.New()
	store, err := kv.Open(eng, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	var o Options
	o.Limits, err = limit.New(store, limit.Options{})
	require.NoError(t, err)
	o.Settings, err = setting.New(store, setting.Options{})
	require.NoError(t, err)
	d := start(t, eng, o)
	t.Cleanup(func() {
		d.stop()
		require.NoError(t, store.Close())
	})
	return d, clock
}

// What is limited is counted, shown, listed and reset in both framings; refusals have their
// data.
func TestLimitsOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, clock := startLimits(t)
		l, ctx := d.dialAs(t, f).Limits("acme"), t.Context()
		ann, by := rpc.LimitName{Endpoint: "tasks:create", User: "ann"}, rpc.LimitRule{Max: 2, Window: 1500 * time.Microsecond}

		_, err := l.Get(ctx, ann)
		require.ErrorIs(t, err, limit.ErrNotFound)
		begun := clock.Now()
		for n := 1; n <= 2; n++ {
			v, err := l.Check(ctx, ann, by, rpc.WAL)
			require.NoError(t, err)
			require.Equal(t, rpc.LimitVerdict{Allowed: true, Count: n, Remaining: 2 - n}, v)
		}
		v, err := l.Check(ctx, ann, by, 0)
		require.NoError(t, err)
		require.Equal(t, rpc.LimitVerdict{Count: 2, RetryAfter: 3 * time.Millisecond}, v, "a window is whole milliseconds, rounded up, and both of its ends count")
		want := rpc.Limit{Name: ann, Rule: rpc.LimitRule{Max: 2, Window: 2 * time.Millisecond}, Count: 2, Oldest: begun.UTC(), Newest: begun.UTC()}
		got, err := l.Get(ctx, ann)
		require.NoError(t, err)
		require.Equal(t, want, got)
		count, err := l.Lookup(ctx, ann.Key())
		require.NoError(t, err)
		require.Equal(t, json.RawMessage("2"), count)

		_, err = l.Check(ctx, rpc.LimitName{Endpoint: "a", User: "bob"}, rpc.LimitRule{Max: 1}, 0)
		require.NoError(t, err)
		var names []rpc.LimitName
		for one, err := range l.All(ctx, rpc.LimitListOptions{}) {
			require.NoError(t, err)
			names = append(names, one.Name)
		}
		require.Equal(t, []rpc.LimitName{{Endpoint: "a", User: "bob"}, ann}, names)
		page, next, err := l.List(ctx, rpc.LimitListOptions{Limit: 1})
		require.NoError(t, err)
		require.Len(t, page, 1)
		page, next, err = l.List(ctx, rpc.LimitListOptions{Cursor: next, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []rpc.Limit{want}, page)
		require.Empty(t, next)
		_, _, err = l.List(ctx, rpc.LimitListOptions{Cursor: "x"})
		require.ErrorIs(t, err, limit.ErrInvalidCursor)

		was, err := l.Reset(ctx, ann, 0)
		require.NoError(t, err)
		require.True(t, was)
		was, err = l.Reset(ctx, ann, 0)
		require.NoError(t, err)
		require.False(t, was)

		_, err = l.Check(ctx, ann, rpc.LimitRule{Max: limit.MaxMax + 1}, 0)
		var refused *limit.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "max", refused.Field)
		require.EqualValues(t, limit.MaxMax, refused.Limit)
		_, err = l.Check(ctx, ann, rpc.LimitRule{Max: 1, Window: -1}, 0)
		require.ErrorIs(t, err, limit.ErrInvalidArgument)
		_, err = l.Check(ctx, ann, rpc.LimitRule{Max: -1}, 0)
		require.ErrorIs(t, err, limit.ErrInvalidArgument)
		_, err = l.Lookup(ctx, "nothing")
		require.ErrorIs(t, err, limit.ErrInvalidArgument)
	})
}

// Settings are read, set, watched and forgotten in both framings; refusals have their data.
func TestSettingsOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, clock := startLimits(t)
		s, ctx := d.dialAs(t, f).Settings("acme"), t.Context()
		const name = setting.Prefix + setting.LockDefaultTTL

		all, err := s.List(ctx)
		require.NoError(t, err)
		require.Len(t, all, 11)
		plain, err := s.Get(ctx, setting.LockDefaultTTL)
		require.NoError(t, err)
		require.Equal(t, name, plain.Name)
		require.Contains(t, all, plain)
		require.Equal(t, json.RawMessage("30"), plain.Value)
		require.False(t, plain.Set)

		set, err := s.Set(ctx, name, []byte(" 45 "), rpc.WAL)
		require.NoError(t, err)
		want := plain
		want.Value, want.Set, want.Revision, want.Written = json.RawMessage("45"), true, set.Revision, clock.Now().UTC()
		require.Equal(t, want, set)
		require.NotZero(t, set.Revision)
		got, err := s.Get(ctx, name)
		require.NoError(t, err)
		require.Equal(t, want, got)

		watching, end := context.WithCancel(ctx)
		defer end()
		var told []rpc.SettingEvent
		for e, err := range s.Watch(watching) {
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
				break
			}
			told = append(told, e)
			switch e.Kind {
			case kv.EventSynced:
				was, err := s.Delete(ctx, name, 0)
				require.NoError(t, err)
				require.True(t, was)
			case kv.EventDelete:
				end()
			}
		}
		require.Len(t, told, 3)
		require.Equal(t, want, told[0].Setting)
		require.Equal(t, plain, told[2].Setting, "it is the default again")
		was, err := s.Delete(ctx, name, 0)
		require.NoError(t, err)
		require.False(t, was)

		_, err = s.Set(ctx, name, []byte(`"long"`), 0)
		var refused *setting.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, name, refused.Name)
		require.Equal(t, "value", refused.Field)
		_, err = s.Get(ctx, "config:nothing")
		require.ErrorIs(t, err, setting.ErrValidation)
	})
}
