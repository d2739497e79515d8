package view

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect/merod"
)

const merodSample = "../inspect/testdata/merod/2026-08"

func merodServed(t *testing.T) (get func(path string) (int, string)) {
	t.Helper()
	d, err := merod.Open(merodSample)
	require.NoError(t, err)
	s, err := NewMerod(d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return func(path string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+strings.Replace(path, "TOKEN", strings.Trim(s.Path(), "/"), 1), nil)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		body, err := io.ReadAll(w.Body)
		require.NoError(t, err)
		return w.Code, string(body)
	}
}

func TestThePagesOfADatabaseOfMerod(t *testing.T) {
	get := merodServed(t)
	for _, c := range []struct {
		path   string
		status int
		has    []string
	}{
		{"/TOKEN/", 200, []string{"187 rows, 187 of them explained", "2026-08-17", "NodeIdentity", `href="rows?column=Group"`, `aria-current="page">Overview`}},
		{"/TOKEN/rows?column=Group", 200, []string{"GroupMember", "&#34;role&#34;: &#34;admin&#34;", "The next rows", `aria-current="page">Group`}},
		{"/TOKEN/rows?column=Group&type=NodeIdentity", 200, []string{"redacted:", "Group: NodeIdentity"}},
		{"/TOKEN/rows?column=Group&type=Nothing", 200, []string{"There is no row."}},
		{"/TOKEN/rows?column=Group&after=ff", 200, []string{"There is no row more."}},
		{"/TOKEN/findings", 200, []string{"Nothing is wrong"}},
		{"/TOKEN/rows?column=Nope", 400, []string{"there is no column family &#34;Nope&#34;"}},
		{"/TOKEN/rows?column=Group&after=x", 400, []string{"is not hex"}},
		{"/TOKEN/style.css", 200, []string{"--ground"}},
		{"/TOKEN/page.js", 404, nil},
		{"/TOKEN/api/store", 404, nil},
		{"/", 403, []string{"token"}},
		{"/wrong/rows?column=Group", 403, []string{"token"}},
	} {
		status, body := get(c.path)
		require.Equal(t, c.status, status, c.path)
		for _, has := range c.has {
			require.Contains(t, body, has, c.path)
		}
	}
}

// Page by page the rows of a family are all of it, each once.
func TestRowsOfMerodFollowEachOther(t *testing.T) {
	get := merodServed(t)
	path, rows := "/TOKEN/rows?column=Group", 0
	for pages := 0; ; pages++ {
		require.Less(t, pages, 10)
		status, body := get(path)
		require.Equal(t, 200, status)
		rows += strings.Count(body, "<h3>")
		_, link, more := strings.Cut(body, `<p><a href="rows?after=`)
		if !more {
			break
		}
		after, _, _ := strings.Cut(link, `&amp;`)
		path = "/TOKEN/rows?column=Group&after=" + after
	}
	d, err := merod.Open(merodSample)
	require.NoError(t, err)
	v, err := merod.Survey(t.Context(), d, nil)
	require.NoError(t, err)
	for _, c := range v.Columns {
		if c.Column == "Group" {
			require.EqualValues(t, c.Rows, rows)
		}
	}
}
