package group

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// golden is a history with what it amounts to, as data for implementations in any
// language: README.md says what is in it. Every hand-written case is one.
type golden struct {
	Names         map[string]codec.Identity           `json:"names"`
	Ties          bool                                `json:"ties,omitempty"`
	Ops           []goldenOp                          `json:"ops"`
	Members       map[codec.GroupID][]codec.Identity  `json:"members"`
	Config        map[codec.ContextID]json.RawMessage `json:"config,omitempty"`
	Equivocations map[codec.Identity]map[string]int   `json:"equivocations,omitempty"` // nonce → ops
	Rows          map[string]string                   `json:"rows"`
}

type goldenOp struct {
	ID      codec.OpID      `json:"id"`
	Version int             `json:"version,omitempty"` // 2, or 1
	Parents []codec.OpID    `json:"parents,omitempty"`
	Signer  codec.Identity  `json:"signer"`
	Nonce   uint64          `json:"nonce"`
	Root    json.RawMessage `json:"root,omitempty"`
	Group   *codec.GroupID  `json:"group,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	KeyOp   *codec.OpID     `json:"key_op,omitempty"`
	Keys    []goldenKey     `json:"keys,omitempty"`
	Verdict string          `json:"verdict"`
}

type goldenKey struct {
	Group   codec.GroupID `json:"group"`
	Carries []codec.OpID  `json:"carries"`
}

// newCase begins a hand-written case. When the test ends, its golden file is compared with
// it, or written. A test of several cases gives each a variant.
func newCase(t *testing.T, variant ...string) (*world, codec.OpID) {
	w, z := newWorld(t)
	name := strings.Join(append([]string{strings.TrimPrefix(t.Name(), "Test")}, variant...), "-")
	t.Cleanup(func() {
		if !t.Failed() {
			w.requireGolden(t, filepath.Join("testdata", "cases", strings.NewReplacer("/", "-", " ", "-").Replace(name)+".json"))
		}
	})
	return w, z
}

func (w *world) requireGolden(t *testing.T, file string) {
	w.requireLedgers()
	r := w.result()
	g := golden{Names: map[string]codec.Identity{}, Ties: w.ties, Members: map[codec.GroupID][]codec.Identity{}, Rows: map[string]string{},
		Config: map[codec.ContextID]json.RawMessage{}, Equivocations: map[codec.Identity]map[string]int{}}
	for _, e := range r.Equivocations {
		if g.Equivocations[e.Signer] == nil {
			g.Equivocations[e.Signer] = map[string]int{}
		}
		g.Equivocations[e.Signer][strconv.FormatUint(e.Nonce, 10)] = e.Count
	}
	for name := range w.names {
		g.Names[name] = who(name)
	}
	for _, id := range r.Groups() {
		g.Members[id] = r.Members(id)
	}
	for _, row := range r.Rows {
		g.Rows[hex.EncodeToString(row.Key)] = hex.EncodeToString(row.Value)
	}
	for c, claim := range r.Claims {
		g.Config[c] = asJSON(t, "ContextConfigValue", claim.Config)
	}
	for _, op := range w.ops {
		o := goldenOp{ID: op.ID, Parents: op.Parents, Signer: op.Signer, Nonce: op.Nonce, Verdict: r.Verdicts[op.ID].String()}
		if op.Version != codec.OpVersion1 {
			o.Version = 1 + int(op.Version)
		}
		switch {
		case op.Root != nil:
			o.Root = asJSON(t, "RootOp", *op.Root)
		case op.Body != nil:
			o.Group, o.Body = &op.Group, asJSON(t, "GroupOp", *op.Body)
		default:
			o.Group = &op.Group
		}
		if !op.KeyOp.IsZero() {
			o.KeyOp = &op.KeyOp
		}
		for _, k := range op.Keys {
			o.Keys = append(o.Keys, goldenKey{k.Group, append([]codec.OpID{}, k.Carries...)})
		}
		g.Ops = append(g.Ops, o)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", " ")
	require.NoError(t, enc.Encode(g))
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
	}
	stored, err := os.ReadFile(file)
	require.NoError(t, err, "go test ./group -update")
	require.Equal(t, string(stored), text.String(), "%s: if the rule has changed: go test ./group -update", file)
}

func asJSON[V interface{ AppendBinary([]byte) ([]byte, error) }](t *testing.T, name string, v V) json.RawMessage {
	b, err := v.AppendBinary(nil)
	require.NoError(t, err)
	typ, ok := codec.TypeByName(name)
	require.True(t, ok, name)
	text, err := typ.JSON(b, false)
	require.NoError(t, err)
	return text
}

// requireLedgers demands that ledgers, to which the ops come in some of the orders in
// which they can, some before they can be read, say what the definition does.
func (w *world) requireLedgers() {
	random := rand.New(rand.NewPCG(2, uint64(len(w.ops))))
	for n := range 4 {
		b := newBook(w.t)
		left, sealed := slices.Clone(w.ops), []Op(nil)
		if n > 0 {
			random.Shuffle(len(left), func(i, k int) { left[i], left[k] = left[k], left[i] })
		}
		for len(left) > 0 {
			at := slices.IndexFunc(left, b.ready)
			op := left[at]
			left = slices.Delete(left, at, at+1)
			if n == 3 && op.Body != nil && random.IntN(3) == 0 {
				sealed = append(sealed, op)
				op.Body = nil
			}
			b.add(op)
			if n > 0 {
				b.settle()
			}
		}
		for _, op := range sealed {
			b.open(op)
			b.settle()
		}
		b.settle()
		b.check()
	}
}

// kinds counts the kinds of ops in a history.
func (w *world) kinds() map[string]int {
	counts := map[string]int{}
	for _, op := range w.ops {
		switch {
		case op.Root != nil:
			counts[op.Root.Kind.String()]++
		case op.Body != nil:
			counts[op.Body.Kind.String()]++
		}
	}
	return counts
}

// everyKind returns the names of all kinds of ops, as codec has them.
func everyKind() (names []string) {
	for _, op := range []string{"GroupOp", "RootOp"} {
		typ, _ := codec.TypeByName(op)
		for _, f := range typ.Fields {
			if strings.HasPrefix(f.Kind, "variant ") {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// kindOf returns the kind of an op as JSON.
func kindOf(t *testing.T, raw json.RawMessage) string {
	if name := ""; json.Unmarshal(raw, &name) == nil {
		return name
	}
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &body))
	require.Len(t, body, 1)
	return slices.Collect(maps.Keys(body))[0]
}

// A golden case that no test makes would say what nobody holds it to.
func TestEveryKindIsInAGoldenCase(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var g golden
		require.NoError(t, json.Unmarshal(text, &g), file)
		for _, op := range g.Ops {
			for _, raw := range []json.RawMessage{op.Root, op.Body} {
				if raw != nil {
					seen[kindOf(t, raw)] = true
				}
			}
		}
	}
	for _, kind := range everyKind() {
		require.True(t, seen[kind], "%s is in no case", kind)
	}
}
