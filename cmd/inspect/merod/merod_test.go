package merod

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

var update = flag.Bool("update", false, "write the rows of the samples; then run make.py there")

// samples is where the sample databases are: what testdata/make.py has made of the rows that
// -update writes.
const samples = "../testdata/merod"

var layoutNames = []string{"2026-05", "2026-08"}

func openSample(t *testing.T, layout string) *Database {
	t.Helper()
	d, err := Open(filepath.Join(samples, layout))
	require.NoError(t, err)
	return d
}

// The databases in testdata have the rows that the layouts make, of all kinds, in the log only
// (as a kill leaves it), and in tables.
func TestTheSamplesHaveRowsOfAllKinds(t *testing.T) {
	for _, layout := range append([]string{"strange", "home/data"}, layoutNames...) {
		file := filepath.Join(samples, layout+".jsonl")
		if *update {
			require.NoError(t, os.WriteFile(file, sampleJSON(layout), 0o644))
			if layout == "home/data" {
				_, chunks := home()
				for id, chunk := range chunks {
					require.NoError(t, os.WriteFile(filepath.Join(samples, "home/blobs", Base58(id[:])), chunk, 0o644))
				}
			}
			continue
		}
		had, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(had), string(sampleJSON(layout)), "go test ./cmd/inspect/merod -update, and python3 make.py there")
		d := openSample(t, layout)
		want := sampleRows(layout)
		for _, family := range d.Families() {
			var rows []diskfile.Row
			for row, err := range d.Rows(family, engine.Range{}) {
				require.NoError(t, err)
				rows = append(rows, diskfile.Row{Key: bytes.Clone(row.Key), Value: append([]byte{}, row.Value...)})
			}
			for i := range want[family] {
				want[family][i].Value = append([]byte{}, want[family][i].Value...)
			}
			require.Equal(t, want[family], rows, family)
		}
	}
}

// Every row is explained, as of the layout that wrote it.
func TestEveryRowOfTheSamplesIsExplained(t *testing.T) {
	for _, layout := range layoutNames {
		d := openSample(t, layout)
		v, err := Survey(context.Background(), d, nil)
		require.NoError(t, err)
		require.Empty(t, v.Unexplained)
		require.Equal(t, v.Rows, v.Explained)
		kinds := map[string]bool{}
		for _, c := range v.Columns {
			require.True(t, c.Known)
			for _, k := range c.Kinds {
				require.Contains(t, k.Layout, layout, "%s %s", c.Column, k.Type)
				kinds[k.Type] = true
			}
		}
		for _, rules := range layouts.rules {
			for _, rule := range rules {
				require.True(t, kinds[rule.kind] || !strings.Contains(rule.layouts, layout), rule.kind)
			}
		}
		verdict, err := Verify(context.Background(), d, nil, func(f inspect.Finding) error { t.Error(f); return nil })
		require.NoError(t, err)
		require.Zero(t, verdict.Findings)
		require.Equal(t, v.Rows, verdict.Rows)
	}
}

// Whatever does not fit is found, and nothing else.
func TestVerifyFindsWhatDoesNotFit(t *testing.T) {
	var found []string
	v, err := Verify(context.Background(), openSample(t, "strange"), nil, func(f inspect.Finding) error {
		found = append(found, f.Code)
		require.NotEmpty(t, f.Key)
		require.NotEmpty(t, f.Column)
		return nil
	})
	require.NoError(t, err)
	slices.Sort(found)
	_, want := strange()
	require.Equal(t, want, found)
	require.EqualValues(t, len(want), v.Findings)
	require.EqualValues(t, 2, v.Codes["context-mirror"])
	require.Equal(t, []string{"no merod that is known has the column family Later"}, v.Notes)
	all := map[string]string{}
	for _, c := range inspect.Codes {
		all[c.Code] = c.Means
	}
	for _, code := range want {
		require.Contains(t, all, code, "stoa verify --codes explains it")
	}
}

// What Kind says is what Explain says, and neither fails, whatever the bytes.
func TestKindIsWhatExplainSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom(layoutNames).Draw(t, "layout")
		family := rapid.SampledFrom(layouts.families).Draw(t, "family")
		rows := sample(layout)[family]
		key, value := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "key"), rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "value")
		if len(rows) > 0 && rapid.Bool().Draw(t, "a row") {
			row := rapid.SampledFrom(rows).Draw(t, "row")
			key, value = row.Key, bytes.Clone(row.Value)
			if len(value) > 0 && rapid.Bool().Draw(t, "damaged") {
				value[rapid.IntRange(0, len(value)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
				value = value[:rapid.IntRange(0, len(value)).Draw(t, "cut")]
			}
		}
		r := Explain(family, key, value)
		_, layout = Kind(family, key, value)
		if len(r.Also) == 0 {
			require.Equal(t, r.Layout, layout)
		}
		require.Equal(t, r.Fault == "", layout != "")
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.True(t, json.Valid(text))
	})
}

// No secret is in what is said of a row, whole or damaged: the 32 bytes of each are found by
// their beginnings, in hex.
func TestNoSecretIsShown(t *testing.T) {
	mark := []byte{0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}
	for of, rules := range layouts.rules {
		for _, rule := range rules {
			r := rand.New(rand.NewPCG(3, 4))
			for range 50 {
				value := markSecrets(rule.value, rule.value.drawn(nil, r), mark)
				for _, v := range [][]byte{value, append(bytes.Clone(value), 7), value[:max(0, len(value)-1)]} {
					text, err := json.Marshal(Explain(of.family, rule.sampleKey(1), v))
					require.NoError(t, err)
					require.NotContains(t, string(text), hex.EncodeToString(mark), rule.kind)
				}
			}
		}
	}
}

// markSecrets writes mark at the beginning of each secret of a value.
func markSecrets(t *typ, value, mark []byte) []byte {
	d := decoder{in: value, secret: func(at int) { copy(value[at:], mark) }}
	_ = d.whole(t) // it was drawn
	return value
}

// Values that were made by Calimero's own crates, and what they say.
func TestGoldenValuesOfCalimero(t *testing.T) {
	id := func(c string) string { return strings.Repeat(c, 32) }
	redacted := func(c string) string {
		b, _ := hex.DecodeString(id(c))
		return `"` + codec.Secret(b).String() + `"`
	}
	ctx, grp, pk := id("11"), id("11"), id("22")
	for _, c := range []struct{ family, key, value, layout, says string }{
		{"Meta", ctx, id("11") + id("22") + "02000000" + id("33") + id("44") + "00", "2026-08,2026-05", `{"application_id":"` + id("11") + `","root_hash":"` + id("22") + `","dag_heads":["` + id("33") + `","` + id("44") + `"],"service_name":null}`},
		{"Meta", ctx, id("11") + id("22") + "00000000" + "010400000063686174", "2026-08,2026-05", `{"application_id":"` + id("11") + `","root_hash":"` + id("22") + `","dag_heads":[],"service_name":"chat"}`},
		{"Meta", ctx, id("11") + id("22") + "01000000" + id("33"), "older", `{"application_id":"` + id("11") + `","root_hash":"` + id("22") + `","dag_heads":["` + id("33") + `"]}`},
		{"Config", ctx, "01000000000000000201000000000000", "2026-08,2026-05", `{"application_revision":"1","members_revision":"258"}`},
		{"Identity", ctx + pk, "01" + id("55") + "00", "2026-05", `{"private_key":` + redacted("55") + `,"sender_key":null}`},
		{"Delta", ctx + id("44"), id("11") + "01000000" + id("22") + "25000000" + "0100000001" + id("33") + "0100008000000065" + "0102030405060708090a0b0c0d0e0f10" + "01" + id("44") + "01020000005b5d", "2026-05",
			`{"delta_id":"` + id("11") + `","parents":["` + id("22") + `"],"actions":[{"compare":{"id":"` + id("33") + `"}}],"hlc":{"time":"7277816999978205185","id":"21345817372864405881847059188222722561"},"applied":true,"expected_root_hash":"` + id("44") + `","events":"5b5d"}`},
		{"Blobs", id("55"), "0500000000000000" + id("66") + "01000000" + id("77"), "2026-05", `{"size":"5","hash":"` + id("66") + `","links":["` + id("77") + `"]}`},
		{"Application", id("11"), id("11") + "07000000000000000100000073010000000" + "9" + id("22") + "010000007005000000312e302e30010000006b00000000", "2026-05", `{"bytecode":"` + id("11") + `","size":"7","source":"s","metadata":"09","compiled":"` + id("22") + `","package":"p","version":"1.0.0","signer_id":"k","services":[]}`},
		{"Group", "20" + grp, id("11") + id("22") + "0100f1536500000000" + id("33") + id("44") + "01070000006d69677261746501", "2026-05", `{"app_key":"` + id("11") + `","target_application_id":"` + id("22") + `","upgrade_policy":"lazy_on_access","created_at":"1700000000","admin_identity":"` + id("33") + `","owner_identity":"` + id("44") + `","migration":"6d696772617465","auto_join":true}`},
		{"Group", "21" + grp + pk, "01000122222222222222222222222222222222222222222222222222222222222222220100", "2026-08,2026-05", `{"role":"member","private_key":null,"sender_key":` + redacted("22") + `,"auto_follow_contexts":true,"auto_follow_subgroups":false}`},
		{"Group", "24" + grp, "05000000312e302e3005000000322e302e300102000000dead00f15365000000000303030303030303030303030303030303030303030303030303030303030303000a0000000300000001000000", "2026-05", `{"from_version":"1.0.0","to_version":"2.0.0","migration":"dead","initiated_at":"1700000000","initiated_by":"` + id("03") + `","status":{"in_progress":{"total":10,"completed":3,"failed":1}}}`},
		{"Group", "2e" + grp, "010700000067656e6572616c0200000005000000636f6c6f72070000002333333636666605000000746f70696304000000636861740068e5cf8b010000" + id("07"), "2026-08,2026-05", `{"name":"general","data":{"color":"#3366ff","topic":"chat"},"updated_at":"1700000000000","updated_by":"` + id("07") + `"}`},
		{"Group", "31" + grp, "020000000000000001000000" + id("11"), "2026-08,2026-05", `{"sequence":"2","dag_heads":["` + id("11") + `"]}`},
		{"Group", "30" + grp + "0000000000000001", "02000000aabb", "2026-08,2026-05", `"aabb"`},
		{"Group", "36" + grp, id("11") + id("22") + id("33"), "2026-05", `{"public_key":"` + id("11") + `","private_key":` + redacted("22") + `,"sender_key":` + redacted("33") + `}`},
		{"Group", "36" + grp, "07", "2026-08", `7`},
		{"Group", "3a" + grp + pk, id("66") + "00f1536500000000", "2026-05", `{"group_key":` + redacted("66") + `,"created_at":"1700000000"}`},
	} {
		key, err := hex.DecodeString(c.key)
		require.NoError(t, err)
		value, err := hex.DecodeString(c.value)
		require.NoError(t, err)
		r := Explain(c.family, key, value)
		require.Empty(t, r.Fault)
		require.Equal(t, c.layout, r.Layout, "%s %s", c.family, r.Type)
		require.Equal(t, c.says, string(r.Value), "%s %s", c.family, r.Type)
	}
}

// What Calimero's readers take though it is no canonical borsh is explained, and said.
func TestWhatCalimeroReadsLooselyIsExplained(t *testing.T) {
	grp := bytes.Repeat([]byte{1}, 32)
	named := func(names ...string) []byte {
		b := []byte{0, byte(len(names)), 0, 0, 0}
		for _, name := range names {
			b = append(b, 1, 0, 0, 0, name[0], 1, 0, 0, 0, name[1])
		}
		return append(b, make([]byte, 40)...)
	}
	r := Explain("Group", append([]byte{0x2e}, grp...), named("bx", "ay", "bz"))
	require.Len(t, r.Notes, 1)
	require.Contains(t, string(r.Value), `"data":{"b":"z","a":"y"}`)
	require.Empty(t, Explain("Group", append([]byte{0x2e}, grp...), named("ax", "by")).Notes)

	application := layouts.types["OldApplication"].drawn(nil, rand.New(rand.NewPCG(1, 1)))
	r = Explain("Application", grp, application)
	require.Equal(t, "older", r.Layout)
	r = Explain("Application", grp, append(application, 9, 0, 0, 0, 1))
	require.Equal(t, "older", r.Layout)
	require.Contains(t, string(r.Value), `"cut_services":"0900000001"`)
	r = Explain("Group", slicesConcat([]byte{0x21}, grp, grp), []byte{1, 0, 0})
	require.Equal(t, "older", r.Layout)
	require.Contains(t, string(r.Value), `"role":"member"`)
	r = Explain("Group", slicesConcat([]byte{0x21}, grp, grp), []byte{1, 0, 0, 1})
	require.NotEmpty(t, r.Fault, "one byte of two")
}

func slicesConcat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestWhatIsNotExplainedSaysWhyAndIsNotShown(t *testing.T) {
	id := bytes.Repeat([]byte{0x5a}, 32)
	long := append([]byte{1}, bytes.Repeat([]byte{0x5a}, 200)...)
	for name, c := range map[string]struct {
		family     string
		key, value []byte
		why        string
	}{
		"a family":     {"Later", id, id, "no merod that is known has this column family"},
		"a prefix":     {"Group", append([]byte{0x77}, id...), id, "a key that no layout has"},
		"a length":     {"Meta", id[:31], id, "a key that no layout has"},
		"an empty key": {"Group", nil, id, "a key that no layout has"},
		"a value":      {"Config", id, id[:15], "of no layout: 2026-08,2026-05 at byte 8: it ends too early"},
		"encrypted":    {"Config", id, long, "it may be encrypted"},
		"a count":      {"Meta", id, slicesConcat(id, id, []byte{255, 255, 255, 255}), "more items than the rest can hold"},
		"a bool":       {"Group", slicesConcat([]byte{0x21}, id, id), []byte{0, 0, 0, 2, 0}, "2 is not below 2"},
		"UTF-8":        {"Group", slicesConcat([]byte{0x37}, id), []byte{1, 0, 0, 0, 255}, "it is not UTF-8"},
	} {
		r := Explain(c.family, c.key, c.value)
		require.Contains(t, r.Fault, c.why, name)
		require.NotContains(t, r.Fault, "5a5a5a5a", name)
		require.Contains(t, r.Fault, "not shown", name)
		require.Nil(t, r.Value, name)
		require.Equal(t, hex.EncodeToString(c.key), r.KeyHex, name)
	}
}

// A row that two layouts take, and read otherwise, is shown as both.
func TestARowOfTwoMeaningsIsShownAsBoth(t *testing.T) {
	id := bytes.Repeat([]byte{1}, 32)
	// Blob08 with no links and refs is Blob05 with no links and 8 bytes more: no value is both, nor is
	// one of Delta: so the rules are made up.
	c, err := parseLayouts("row new F Kind id = { a u64 }\nrow old F Kind id = { b u32, c u32 }\nelse older F Kind id = raw\nrow oldest F Kind id = { a u64 }")
	require.NoError(t, err)
	was := layouts
	layouts = c
	defer func() { layouts = was }()
	r := Explain("F", id, []byte{1, 0, 0, 0, 2, 0, 0, 0})
	require.Equal(t, "new,oldest", r.Layout)
	require.Equal(t, `{"a":"8589934593"}`, string(r.Value))
	require.Equal(t, []Reading{{"Kind", "old", json.RawMessage(`{"b":1,"c":2}`)}}, r.Also)
}

func TestLayoutsThatDoNotParse(t *testing.T) {
	for _, text := range []string{
		"nonsense", "type A", "type A = ", "type A = B", "type A = []", "type A = { x u8", "type A = enum { x }, y", "type A = u8 u8",
		"row x F = u8", "column x = u8", "row x F Kind id:x = u8", "type A = [u8]", "type A = bytes<u8",
	} {
		_, err := parseLayouts(text)
		require.ErrorContains(t, err, "layouts", text)
	}
}

func TestWhatIsNoDatabaseOfMerod(t *testing.T) {
	empty := t.TempDir()
	_, err := Open(empty)
	require.ErrorIs(t, err, engine.ErrNotDatabase)
	require.ErrorContains(t, err, "no file CURRENT")
	_, err = Open("../../../engine/rocks/diskfile/testdata/rocksdb-9.8.4")
	require.ErrorIs(t, err, engine.ErrNotDatabase)
	require.ErrorContains(t, err, "no column family Config")
	hurt := filepath.Join(t.TempDir(), "db")
	require.NoError(t, os.CopyFS(hurt, os.DirFS(filepath.Join(samples, "2026-05"))))
	logs, err := diskfile.Files(hurt, ".log")
	require.NoError(t, err)
	b, err := os.ReadFile(logs[0].Path)
	require.NoError(t, err)
	b[len(b)/2] ^= 1
	require.NoError(t, os.WriteFile(logs[0].Path, b, 0o600))
	_, err = Open(hurt)
	require.ErrorIs(t, err, engine.ErrCorrupt)
}
