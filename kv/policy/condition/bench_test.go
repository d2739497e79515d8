package condition

import (
	"runtime"
	"testing"
)

// measured are conditions of three sizes: the shortest, the source's example, a long one.
var measured = map[string]string{
	"shortest": "true",
	"example":  "recipient.domain NOT IN approved_domains",
	"long":     `amount > 100 and currency in ["EUR", "USD", "GBP"] and not (user.roles contains "admin") and any(recipients, # endsWith ".io") and (limit ?? 1000) > amount * 1.2`,
}

// BenchmarkMemory says what a compiled condition keeps, its source included.
func BenchmarkMemory(b *testing.B) {
	for name, source := range measured {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				const n = 1000
				programs := make([]*Program, n)
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				for i := range programs {
					programs[i], _ = Compile(string(append([]byte(nil), source...)))
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/program")
				runtime.KeepAlive(programs)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, source := range measured {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(source); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEval(b *testing.B) {
	context := contextOf(b, `{"recipient": {"domain": "evil.com"}, "approved_domains": ["a.io", "b.io"], "amount": 120, "currency": "EUR",
		"user": {"roles": "clerk"}, "recipients": ["x@a.com", "y@b.io"]}`)
	for name, source := range measured {
		b.Run(name, func(b *testing.B) {
			p, err := Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			env := &Env{Agent: "cece", Action: "email.send", Context: context}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Eval(env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
