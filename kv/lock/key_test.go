package lock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

func TestNamesThatAreRefused(t *testing.T) {
	for _, name := range []string{"", "task", "task:", "resource:db", "resource:db:", "resource::1", "other:1", "agent:a", "task:{1}", "task:a\x00", "task:\xff",
		"task:1:queue", "resource:db:1:channel", "resource:" + strings.Repeat("d", MaxType+1) + ":1", "task:" + strings.Repeat("i", MaxName)} {
		_, _, err := ParseName(name)
		require.ErrorIs(t, err, ErrInvalidArgument, name)
	}
	h := locktest.Open(t, locktest.Setup{})
	_, err := h.Get("", Task("1"))
	require.ErrorIs(t, err, ErrInvalidArgument)
	for _, r := range []Request{
		{Name: Task("1")}, {Name: Task("1"), Agent: "{a}"}, {Name: Task("1"), Agent: strings.Repeat("a", MaxAgent+1)}, {Name: Task("1"), Agent: "a", Purpose: strings.Repeat("p", MaxPurpose+1)},
		{Name: Task("1"), Agent: "a", Priority: -1}, {Name: Task("1"), Agent: "a", Priority: TopPriority + 1}, {Name: Task("1"), Agent: "a", TTL: -1}, {Name: Task("1"), Agent: "a", MaxWait: 1},
		{Name: Task("1"), Agent: "a", Wait: true, MaxWait: MaxWait + 1}, {Name: Task("1"), Agent: "a", Mode: 3}, {Name: Task("1"), Agent: "a", Claim: -1}, {Name: Task("1"), Agent: "a", Durability: 9},
	} {
		_, err := h.Acquire(ctx, "t", r)
		require.ErrorIs(t, err, ErrInvalidArgument, "%+v", r)
	}
}
