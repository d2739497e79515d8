//go:build cgo

package limit

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// doomed says to a process of this test at which ms of the clock it begins, and the directory
// that it writes to until it is killed, as 250@DIR.
const doomed = "STOA_LIMIT_DOOMED"

// checked is a check: the ms of the clock before it and after it, whether it was allowed,
// and whether anybody heard of that.
type checked struct {
	From, To int64
	Allowed  bool
	heard    bool
}

// killedRule is what is allowed in the test.
var killedRule = Rule{5, 20 * time.Millisecond}

// judge demands that of any window no more were allowed than may be, wherever in its time
// each check was, and that who was refused had as many before it. What nobody heard of may
// count, and need not.
func judge(t require.TestingT, all []checked) {
	window := killedRule.Window.Milliseconds()
	var allowed []checked
	for _, c := range all {
		if c.heard && c.Allowed {
			allowed = append(allowed, c)
		}
	}
	slices.SortFunc(allowed, func(a, b checked) int { return int(a.To - b.To) })
	for i, last := range allowed {
		within := 0
		for _, c := range allowed[:i+1] {
			if c.From+window >= last.To {
				within++
			}
		}
		require.LessOrEqual(t, within, killedRule.Max, "within %d ms before %d", window, last.To)
	}
	for _, refused := range all {
		if !refused.heard || refused.Allowed {
			continue
		}
		before := 0
		for _, c := range all {
			if (c.Allowed || !c.heard) && c.From <= refused.To && c.To+window >= refused.From {
				before++
			}
		}
		require.GreaterOrEqual(t, before, killedRule.Max, "%+v was refused", refused)
	}
}

// Callers ask at once while time passes, and their process is killed: no window has more than
// may be, those included that begin in one process and end in the next, and nobody is
// refused for what was not.
func TestA74NoWindowHasMoreThanItsRuleOverKills(t *testing.T) {
	if value := os.Getenv(doomed); value != "" {
		ms, dir, _ := strings.Cut(value, "@")
		begin, err := strconv.ParseInt(ms, 10, 64)
		require.NoError(t, err)
		checkUntilKilled(t, begin, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(74, 75))
	var all []checked
	now := int64(1) // 0 is that of a check that has no answer
	for range max(enginetest.Scale(3), 2) {
		open := map[string]checked{}
		for _, line := range enginetest.UntilKilled(t, doomed, fmt.Sprint(now, "@", dir), time.Duration(random.IntN(40_000))*time.Microsecond) {
			client, what, _ := strings.Cut(line, " ")
			if what == "" { // time is about to pass
				ms, err := strconv.ParseInt(client, 10, 64)
				require.NoError(t, err)
				now = ms
				continue
			}
			var c checked
			require.NoError(t, json.Unmarshal([]byte(what), &c))
			if c.To == 0 {
				open[client] = c
				continue
			}
			c.heard = true
			all = append(all, c)
			delete(open, client)
		}
		for _, c := range open {
			c.To = now
			all = append(all, c)
		}
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		h := &host{t: t, db: db, clock: clockAt(now)}
		h.open()
		h.end()
		require.NoError(t, db.Close())
	}
	judge(t, all)
	t.Logf("%d checks within %d ms", len(all), now)
}

// clockAt is a clock at some ms of the test.
func clockAt(ms int64) *kvtest.Clock {
	clock := kvtest.New()
	clock.Pass(time.Duration(ms) * time.Millisecond)
	return clock
}

func checkUntilKilled(t *testing.T, begin int64, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	clock := clockAt(begin)
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := New(store, Options{})
	require.NoError(t, err)
	now := func() int64 { return clock.Elapsed().Milliseconds() }
	var all sync.WaitGroup
	for client := range 4 {
		random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(client)))
		say := func(c checked) {
			text, err := json.Marshal(c)
			require.NoError(t, err)
			_, _ = fmt.Printf("c%d %s.\n", client, text)
		}
		all.Go(func() {
			for {
				c := checked{From: now()}
				say(c)
				v, err := s.Check(ctx, "t", create, killedRule, engine.WAL)
				require.NoError(t, err)
				c.To, c.Allowed = now(), v.Allowed
				say(c)
				if client == 0 {
					d := random.Int64N(8)
					_, _ = fmt.Printf("%d.\n", now()+d)
					clock.Pass(time.Duration(d) * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
}

// The judge says no to one too many, and to who is refused for nothing.
func TestTheJudgeOfLimitsFindsMistakes(t *testing.T) {
	allowed := func(at int64) checked { return checked{at, at, true, true} }
	five := []checked{allowed(1), allowed(2), allowed(3), allowed(4), allowed(5)}
	for name, list := range map[string][]checked{
		"one too many":        append(five[:5:5], allowed(21)),
		"refused for nothing": append(five[:5:5], checked{26, 26, false, true}),
	} {
		var found failures
		judge(&found, list)
		require.Positive(t, found, name)
	}
	judge(t, append(five[:5:5], allowed(22), checked{21, 21, false, true}))
}

// failures counts what a judge finds.
type failures int

func (f *failures) Errorf(string, ...any) { *f++ }
func (f *failures) FailNow()              {}
