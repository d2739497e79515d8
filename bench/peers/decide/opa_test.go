package decide

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/stretchr/testify/require"
)

//go:embed decide.rego
var program string

// prepare compiles the program, for records at a path. A nil store is none.
func prepare(t testing.TB, records string, store storage.Store) rego.PreparedEvalQuery {
	options := []func(*rego.Rego){rego.Query("data.stoa.decision"), rego.Module("decide.rego", strings.ReplaceAll(program, "WORLD", records))}
	if store != nil {
		options = append(options, rego.Store(store))
	}
	query, err := rego.New(options...).PrepareForEval(t.Context())
	require.NoError(t, err)
	return query
}

// opa is what Open Policy Agent answers.
func opa(t testing.TB, query rego.PreparedEvalQuery, input ast.Value) map[string]any {
	results, err := query.Eval(t.Context(), rego.EvalParsedInput(input))
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0].Expressions[0].Value.(map[string]any)
}

func value(t testing.TB, v any) ast.Value {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	made, err := ast.ValueFromReader(strings.NewReader(string(text)))
	require.NoError(t, err)
	return made
}

// Every decision of random worlds is the one that a rego program of the same rules makes.
func TestB87OPADecidesAlike(t *testing.T) {
	query := prepare(t, "input.world", nil)
	d := newDrawer(t, false)
	seen := map[string]int{}
	for range worlds {
		w := d.world()
		made := w.ours(t)
		for range 2 {
			q := d.asked()
			got := made.Decide(q.question())
			want := opa(t, query, value(t, struct {
				*asked
				World *world `json:"world"`
			}{q, w}))
			ours := map[string]any{"result": got.Result.String()}
			kind := got.Result.String()
			if got.Rule == "" {
				ours["reason"] = got.Reason
				kind += ": " + got.Reason + " " + got.Policy
			} else if strings.Contains(got.Reason, "failed") {
				kind += ": a condition failed"
			}
			for name, text := range map[string]string{"policy": got.Policy, "rule": got.Rule, "delegation": got.Delegation} {
				if text != "" {
					ours[name] = text
				}
			}
			text, _ := json.Marshal(w)
			require.Equal(t, want, ours, "%+v of %s", q, text)
			seen[kind]++
		}
	}
	require.Len(t, seen, 13, "%v", seen)
	for kind, n := range seen {
		require.Greater(t, n, 50, kind)
	}
	t.Log(seen)
}
