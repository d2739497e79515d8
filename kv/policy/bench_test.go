package policy

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// largeWorld has 200 policies of 40 scopes and 1,000 delegations of 100 agents.
func largeWorld(b testing.TB) *testWorld {
	w := newWorld(b)
	for i := range 200 {
		scope := fmt.Sprintf("tool%d.action%d", i%20, i%40/20)
		if i%10 == 0 {
			scope = fmt.Sprintf("tool%d.*", i%20)
		}
		w.policy(fmt.Sprintf("pol-%03d", i), scope,
			rule("require_human_approval", 100, "recipient.domain NOT IN approved_domains"), rule("deny", 50, "amount > 1000"), rule("allow", 0, "true"))
	}
	for i := range 100 {
		w.agent(fmt.Sprint("a", i), "active", "finance.*")
	}
	for i := range 1000 {
		w.delegate(fmt.Sprintf("del-%04d", i), []string{fmt.Sprintf("tool%d.*", i/100), fmt.Sprintf("other%d.read", i%7)},
			fields{"delegate": fmt.Sprintf("agent:a%d", i%100), "constraints": fields{"require_approval_for": []string{"other.delete"}, "valid_until": "2026-11-30T00:00:00Z"}})
	}
	return w
}

func benchmarkQuestion(i int) *Question {
	domain := "a.io"
	if i%4 == 0 {
		domain = "evil.com"
	}
	return &Question{Agent: fmt.Sprintf("agent:a%d", i%100), Action: fmt.Sprintf("tool%d.action%d", i%10, i%2), Time: noon,
		Context: map[string]any{"recipient": map[string]any{"domain": domain}, "approved_domains": []any{"a.io", "b.io"}, "amount": 10.0}}
}

// Processor reports the processor time of what the benchmark does from here on.
func Processor(b *testing.B) (done func()) {
	spent := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64(spent()-before)/float64(b.N), "cpu-ns/op") }
}

// What a daemon spends on the collections when it starts, and what uses no daemon.
func BenchmarkCollections(b *testing.B) {
	b.ReportAllocs()
	defer Processor(b)()
	for b.Loop() {
		_, err := declareAll()
		require.NoError(b, err)
	}
}

func BenchmarkDecide(b *testing.B) {
	w := largeWorld(b)
	var questions []*Question
	results := map[Result]int{}
	for i := range 1000 {
		questions = append(questions, benchmarkQuestion(i))
		results[w.Decide(questions[i]).Result]++
	}
	require.Len(b, results, 2, "%v", results)
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		defer Processor(b)()
		for i := 0; b.Loop(); i++ {
			w.Decide(questions[i%1000])
		}
	})
	b.Run("parallel", func(b *testing.B) {
		defer Processor(b)()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				w.Decide(questions[i%1000])
			}
		})
	})
	b.Run("while one changes", func(b *testing.B) {
		var stop atomic.Bool
		var changes atomic.Int64
		done := make(chan bool)
		go func() {
			for i := 0; !stop.Load(); i++ {
				w.Apply(w.delegations[fmt.Sprintf("del-%04d", i%1000)])
				changes.Add(1)
			}
			close(done)
		}()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				w.Decide(questions[i%1000])
			}
		})
		stop.Store(true)
		<-done
		b.ReportMetric(float64(changes.Load())/float64(b.N), "changes/op")
	})
	b.Run("explain", func(b *testing.B) {
		defer Processor(b)()
		for i := 0; b.Loop(); i++ {
			w.Explain(questions[i%1000])
		}
	})
}

func BenchmarkApply(b *testing.B) {
	w := largeWorld(b)
	d, p := w.delegations["del-0500"], w.policies["pol-100"]
	b.Run("delegation", func(b *testing.B) {
		b.ReportAllocs()
		defer Processor(b)()
		for b.Loop() {
			w.Apply(d)
		}
	})
	b.Run("policy", func(b *testing.B) {
		b.ReportAllocs()
		defer Processor(b)()
		for b.Loop() {
			w.Apply(p)
		}
	})
}

func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		w := largeWorld(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "B/world")
		runtime.KeepAlive(w)
	}
}

func BenchmarkMemoryOfPolicies(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		w := newWorld(b)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 1000 {
			w.policy(fmt.Sprintf("pol-%03d", i), fmt.Sprintf("tool%d.action", i),
				rule("require_human_approval", 100, "recipient.domain NOT IN approved_domains"), rule("deny", 50, "amount > 1000"), rule("allow", 0, "true"))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1000, "B/policy")
		runtime.KeepAlive(w)
	}
}
