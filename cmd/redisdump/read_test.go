package redisdump_test

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	. "github.com/stoadb/stoa/cmd/redisdump"
)

var now = time.Date(2026, 3, 18, 15, 30, 0, 0, time.UTC)

func read(t *testing.T, text string) *Dump {
	d, err := Read(strings.NewReader(text), now)
	require.NoError(t, err)
	return d
}

func TestWordsAreThoseOfRedisCli(t *testing.T) {
	for line, want := range map[string][]string{
		`SET a b`:                    {"SET", "a", "b"},
		"  SET\ta  b  ":              {"SET", "a", "b"},
		`SET a "b c"`:                {"SET", "a", "b c"},
		`SET a '{"x": [1, 2]}'`:      {"SET", "a", `{"x": [1, 2]}`},
		`SET a "\x41\n\"\\\q\xzz"`:   {"SET", "a", "A\n\"\\qxzz"},
		`SET a 'it\'s \n'`:           {"SET", "a", `it's \n`},
		`SET a ""`:                   {"SET", "a", ""},
		`SET a pre"fix of"`:          {"SET", "a", "prefix of"},
		`SET ключ "значение \xff"`:   {"SET", "ключ", "значение \xff"},
		``:                           nil,
		`HSET ade:{task:1}:meta a b`: {"HSET", "ade:{task:1}:meta", "a", "b"},
	} {
		words, err := Words(line)
		require.NoError(t, err, line)
		require.Equal(t, want, words, line)
	}
	for _, line := range []string{`SET a "b`, `SET a 'b`, `SET a "b"c`, `SET a 'b''c'`, `"`, `SET a "\`} {
		_, err := Words(line)
		require.Error(t, err, line)
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`SET a "b \x41 c" 'd\'e' f`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Words(line)
		if err != nil {
			return
		}
		var quoted strings.Builder
		for _, word := range words {
			quoted.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`)
		}
		again, err := Words(quoted.String())
		require.NoError(t, err)
		require.Equal(t, words, again)
	})
}

// What a dump leaves is what Redis would have, of each kind of key.
func TestCommandsLeaveTheirKeys(t *testing.T) {
	d := read(t, `
# what is here was written by hand
SET ade:task:1:state DRAFT
set ade:task:1:state "REVIEWING"
HSET h a 1 b 2
HSET h a 3 \
  c "x y"
HDEL h b
SADD s z a a
SREM s z
ZADD z 850 app-1 450 app-2 450 app-0
ZADD z 1 gone
ZREM z gone
RPUSH l b c
LPUSH l a z
XADD e 1710775800000-0 event made
XADD e MAXLEN ~ 100 1710775800000-1 event changed payload '{"a":1}'
XGROUP CREATE e readers $ MKSTREAM
JSON.SET j $ '{"x":1}'
DEL nothing
MULTI
SELECT 0
EXEC
`)
	require.Equal(t, []string{"ade:task:1:state", "e", "h", "j", "l", "s", "z"}, d.Names())
	require.Equal(t, "REVIEWING", d.Values["ade:task:1:state"].Text)
	require.Equal(t, map[string]string{"a": "3", "c": "x y"}, d.Values["h"].Fields)
	require.Equal(t, []string{"a"}, members(d.Values["s"]))
	require.Equal(t, []string{"app-0", "app-2", "app-1"}, members(d.Values["z"]), "by the scores")
	require.Equal(t, []string{"z", "a", "b", "c"}, d.Values["l"].List)
	require.Equal(t, []Entry{{ID{1710775800000, 0}, map[string]string{"event": "made"}},
		{ID{1710775800000, 1}, map[string]string{"event": "changed", "payload": `{"a":1}`}}}, d.Values["e"].Entries)
	require.Equal(t, `{"x":1}`, d.Values["j"].Text)
	require.Equal(t, 8, d.Values["h"].Line, "the line of the last command about it")
	require.Equal(t, 20, d.Commands)
}

func TestWhatHoldsNothingIsNoKey(t *testing.T) {
	d := read(t, "HSET h a 1\nHDEL h a\nSADD s a\nSREM s a\nZADD z 1 a\nZREM z a\nSET t x\nUNLINK t\nSREM none a\n")
	require.Empty(t, d.Values)
}

func TestTimesToLiveCountFromTheDump(t *testing.T) {
	d := read(t, `
SET a 1 EX 60
SET b 1
PEXPIRE b 1500
SET c 1 PXAT 1773847801000
SETEX d 30 1
SET e 1 EX 60
SET e 2
SET f 1 EX 60
SET f 2 KEEPTTL
SET g 1 EX 60
PERSIST g
SET over 1 EXAT 1773847799
SET just 1 EX 0
HSET h a 1
EXPIREAT h 1773847860
EXPIRE none 5
`)
	for name, want := range map[string]time.Time{"a": now.Add(time.Minute), "b": now.Add(1500 * time.Millisecond), "c": now.Add(time.Second),
		"d": now.Add(30 * time.Second), "e": {}, "f": now.Add(time.Minute), "g": {}, "h": now.Add(time.Minute)} {
		require.Equal(t, want, d.Values[name].Expires, name)
	}
	require.Nil(t, d.Values["over"])
	require.Nil(t, d.Values["just"])
}

// A command that can't be run is named by its line, and what is wrong.
func TestWhatCannotBeRunIsNamedByItsLine(t *testing.T) {
	for text, says := range map[string]string{
		"\nFLUSHALL":                          `line 2: the command "FLUSHALL" is not one that dumps are read with; take the line out, or say it with`,
		"SET a":                               "line 1: SET wants more: it is written as SET key value [EX",
		"SET a b\nHSET a f v":                 "line 2: HSET: the key holds a string since line 1, not a hash; it is written as HSET",
		"HSET a f v g":                        `line 1: HSET: the field "g" has no value`,
		"ZADD a NX 1 b":                       "line 1: ZADD: scores and members are wanted in turn, without options",
		"ZADD a high b":                       `line 1: ZADD: "high" is no score`,
		"ZADD a nan b":                        `"nan" is no score`,
		"XADD e * a b":                        "the id \"*\" is not milliseconds and a number, such as 1710775800000-0; * does not say when it was",
		"XADD e 2-1 a b\nXADD e 2-1 a b":      "line 2: XADD: the id 2-1 is not greater than that of the entry before, 2-1",
		"XADD e 2-1 a b c":                    "an id is wanted, and fields with their values",
		"XADD e MAXLEN ~ 5":                   "an id is wanted, and fields with their values",
		"SET a b EX":                          `"EX" is no option`,
		"SET a b NX":                          `"NX" is no option`,
		"SET a b EX soon":                     `"soon" is no time`,
		"SET a b EX -1":                       `"-1" is no time`,
		"SET a b EX 9223372036854775807":      "is no time",
		"EXPIRE a 5 NX":                       `"NX" is no option`,
		"SELECT 1":                            `the dump is of database "1"`,
		"JSON.SET a $.x 1":                    "only whole documents are read",
		"SET a \\\n\\\n\"b":                   "line 1: a quote is not closed",
		"SET a \\\nb\nGET a":                  `line 3: the command "GET"`,
		"SET a b\nSREM a x":                   "line 2: SREM: the key holds a string since line 1, which has no members",
		"SET a b\n" + strings.Repeat("x", 60): `line 2: the command "` + strings.Repeat("x", 40) + `…"`,
	} {
		_, err := Read(strings.NewReader(text), now)
		require.ErrorContains(t, err, says, text)
		var e *Error
		require.ErrorAs(t, err, &e, text)
	}
	_, err := Read(io.MultiReader(strings.NewReader("SET a b\n"), iotest.ErrReader(errors.New("the disk"))), now)
	require.ErrorContains(t, err, "the dump can't be read: the disk")
	_, err = Read(io.LimitReader(endless{}, MaxLine+100), now)
	require.ErrorContains(t, err, "line 1: the command has more than 16777216 bytes")
}

// endless is a command without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// A set, a hash and a list agree with a map and a slice after any commands.
func TestKeysAgreeWithAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, hash, list := map[string]bool{}, map[string]string{}, []string(nil)
		var text strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "commands") {
			x := rapid.StringMatching(`[a-e]`).Draw(t, "x")
			switch rapid.SampledFrom([]string{"SADD", "SREM", "HSET", "HDEL", "RPUSH", "LPUSH"}).Draw(t, "command") {
			case "SADD":
				text.WriteString("SADD s " + x + "\n")
				set[x] = true
			case "SREM":
				text.WriteString("SREM s " + x + "\n")
				delete(set, x)
			case "HSET":
				y := rapid.StringMatching(`[a-e]`).Draw(t, "y")
				text.WriteString("HSET h " + x + " " + y + "\n")
				hash[x] = y
			case "HDEL":
				text.WriteString("HDEL h " + x + "\n")
				delete(hash, x)
			case "RPUSH":
				text.WriteString("RPUSH l " + x + "\n")
				list = append(list, x)
			case "LPUSH":
				text.WriteString("LPUSH l " + x + "\n")
				list = append([]string{x}, list...)
			}
		}
		d, err := Read(strings.NewReader(text.String()), now)
		require.NoError(t, err)
		for name, some := range map[string]bool{"s": len(set) > 0, "h": len(hash) > 0, "l": len(list) > 0} {
			require.Equal(t, some, d.Values[name] != nil, name)
		}
		if s := d.Values["s"]; s != nil {
			require.Len(t, members(s), len(set))
			for _, m := range members(s) {
				require.True(t, set[m])
			}
		}
		if h := d.Values["h"]; h != nil {
			require.Equal(t, hash, h.Fields)
		}
		if l := d.Values["l"]; l != nil {
			require.Equal(t, list, l.List)
		}
	})
}

// members are those of a set or of a sorted set: by their scores, and then by themselves.
func members(v *Value) []string {
	return slices.SortedFunc(maps.Keys(v.Scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(v.Scores[a], v.Scores[b]), cmp.Compare(a, b))
	})
}
