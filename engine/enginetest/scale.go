package enginetest

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ScaleEnv is the environment variable by which tests that repeat themselves
// are made shorter or longer: a factor, 1 where it is not set.
const ScaleEnv = "STOA_TEST_SCALE"

// Scale returns n times the factor in STOA_TEST_SCALE, and at least 1. It
// panics if the factor is not a number over 0.
func Scale(n int) int {
	s := os.Getenv(ScaleEnv)
	if s == "" {
		return n
	}
	factor, err := strconv.ParseFloat(s, 64)
	if err != nil || !(factor > 0) || math.IsInf(factor, 0) {
		panic("enginetest: " + ScaleEnv + "=" + s + " is not a number over 0")
	}
	return max(1, int(math.Min(math.Round(float64(n)*factor), math.MaxInt32)))
}

// Fewer lets the rest of a test have a share of the cases that Scale would give it: for what
// is tested in full beside it. It panics in a test that runs in parallel.
func Fewer(t testing.TB, share float64) {
	t.Helper()
	factor := 1.0
	if s := os.Getenv(ScaleEnv); s != "" {
		Scale(1) // which panics if it is no number
		factor, _ = strconv.ParseFloat(s, 64)
	}
	t.Setenv(ScaleEnv, strconv.FormatFloat(factor*share, 'g', -1, 64))
}

// Stride returns how far apart the places are that a test tries which goes through
// all of them: 1, and more where the factor in STOA_TEST_SCALE is under 1, but 10
// at most. It panics as Scale does.
func Stride() int { return max(1, 10/Scale(10)) }

// OneByOne is why tests of one caller are skipped that would take a good part of all that is
// run under the race detector.
const OneByOne = "one call after the other: other tests have the same goroutines, and several calls at once"

// SkipUnderRace skips a test that the race detector learns nothing from, and says
// why. Without the detector the test runs.
func SkipUnderRace(t testing.TB, why string) {
	t.Helper()
	if UnderRace {
		t.Skip("not under the race detector: " + why)
	}
}

// Check is rapid.Check with Scale(n) cases, unless -rapid.checks says how
// many. Tests that use it must not run in parallel: the flag is the process's.
func Check(t *testing.T, n int, property func(*rapid.T)) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if before := f.Value.String(); before == f.DefValue {
		if err := f.Value.Set(strconv.Itoa(Scale(n))); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(before) }()
	}
	rapid.Check(t, property)
}

// Random returns what a test draws from by [Seed], which it logs. It is not safe for
// concurrent use.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := Seed()
	t.Logf("RAPID_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Seed returns the number in RAPID_SEED, by which rapid draws too, and something new each
// time where that is not set. It panics if it is no number.
func Seed() uint64 {
	s := os.Getenv("RAPID_SEED")
	if s == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		panic("enginetest: RAPID_SEED=" + s + " is not a number")
	}
	return seed
}
