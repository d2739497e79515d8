package document

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// shape is how deep a value is nested, and how many names are open at once in it.
func shape(v any) (depth, names int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			d, n := shape(e)
			depth, names = max(depth, d), max(names, n)
		}
		return depth + 1, names
	case map[string]any:
		for _, e := range v {
			d, n := shape(e)
			depth, names = max(depth, d), max(names, n)
		}
		return depth + 1, len(v) + names // at most: the last may hold the others
	}
	return 0, 0
}

func TestAMeasureIsOfWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "value")
		plain, err := json.Marshal(v)
		require.NoError(t, err)
		indented, err := json.MarshalIndent(v, "", " \t")
		require.NoError(t, err)
		canonical := encoded(t, v)
		depth, names := shape(v)
		for _, text := range [][]byte{plain, indented, canonical} {
			m := Measure(text)
			require.LessOrEqual(t, m.AtLeast, len(canonical), "%s", text)
			require.Equal(t, depth, m.Depth, "%s", text)
			require.LessOrEqual(t, m.Names, names, "%s", text)
		}
		require.Equal(t, Measure(plain), Measure(indented), "white space is nothing")
	})
	require.Equal(t, len(`{"a":[1,"xyz",true,null]}`), Measure([]byte(` { "a" : [ 1.000e5 , "x\u0079\u007a" , true , null ] } `)).AtLeast)
	for _, zero := range []string{"-0", "-0.0", "-1e-400"} {
		require.Equal(t, 1, Measure([]byte(zero)).AtLeast, "it is 0")
	}
	require.Equal(t, 3, Measure([]byte(`{"a":1,"b":{"c":{}},"d":0}`)).Names)
	for _, text := range []string{"", "]", "}}", `"`, `"\`, `"\u1`, strings.Repeat("[", 1000), strings.Repeat(`{"":`, 1000), ":::"} {
		Measure([]byte(text))
	}
}

// hostile are texts that take much, each of so many bytes or some less.
func hostile(size int) map[string][]byte {
	repeated := func(s string) string { return strings.Repeat(s, size/len(s)) }
	nested := strings.Repeat(`{"b":1,"a":`, MaxDepth-1)
	names := func(format string) string {
		var b strings.Builder
		for i := size; b.Len() < size-20; i-- { // in no order
			fmt.Fprintf(&b, format+",", i%100_000*7919%100_000)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	return map[string][]byte{
		"one name":       []byte(`{` + strings.TrimSuffix(repeated(`"":0,`), ",") + `}`),
		"names":          []byte(`{` + names(`"%d":0`) + `}`),
		"names in turn":  []byte(`{` + names(`"n%05d":0`) + `}`),
		"escapes":        []byte(`"` + repeated(`\u0061`) + `"`),
		"escaped names":  []byte(`{` + names(`"\u0061%d":0`) + `}`),
		"nested":         []byte(nested + `"` + strings.Repeat("x", size-len(nested)-400) + `"` + strings.Repeat("}", MaxDepth-1)),
		"too deep":       []byte(repeated("[")),
		"too deep names": []byte(repeated(`{"a":`)),
		"many arrays":    []byte("[" + strings.TrimSuffix(repeated("[],"), ",") + "]"),
		"white space":    []byte(repeated(" ") + "1"),
		"no end":         []byte(`"` + repeated("x")),
	}
}

// TestWhatATextTakesIsBounded: whatever it says, what is allocated for it in all is at most a few
// times the text.
func TestWhatATextTakesIsBounded(t *testing.T) {
	const size = 4 << 20
	for name, text := range hostile(size) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Canonical(text)
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes, %.2f times the text, %v", name, len(text), float64(took)/float64(len(text)), err)
		require.LessOrEqual(t, float64(took), 3*float64(len(text)), name)
	}
}
