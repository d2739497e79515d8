package view

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// get asks s for a path behind the token, and returns the status and the body.
func get(s *Server, path string) (int, []byte) { return answered(s, http.MethodGet, path) }

func post(s *Server, path string) (int, []byte) { return answered(s, http.MethodPost, path) }

func answered(s *Server, method, path string) (int, []byte) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+s.Path()+path, nil))
	return w.Code, w.Body.Bytes()
}

// ask asks s for data.
func ask[T any](t *testing.T, s *Server, path string, query ...string) (doc T) {
	q := url.Values{}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	status, body := get(s, "api/"+path+"?"+q.Encode())
	require.Equal(t, http.StatusOK, status, "%s", body)
	require.NoError(t, json.Unmarshal(body, &doc))
	return doc
}

func TestOnlyWhoHasTheTokenAndAsksThisMachineIsAnswered(t *testing.T) {
	s := newSample(t, 1).served(t)
	other := "/" + strings.Repeat("A", len(s.token)) + "/"
	for _, tc := range []struct {
		method, host, path string
		status             int
	}{
		{"GET", "localhost", s.Path(), 200},
		{"HEAD", "127.0.0.1:8080", s.Path(), 200},
		{"GET", "[::1]:8080", s.Path() + "style.css", 200},
		{"GET", "localhost:1", s.Path() + "api/store", 200},
		{"GET", "localhost", "/", 403},
		{"GET", "localhost", "/" + s.token, 403},
		{"GET", "localhost", other, 403},
		{"GET", "localhost", other + "api/store", 403},
		{"GET", "localhost", "/" + s.token[:len(s.token)-1] + "/", 403},
		{"GET", "localhost", "//" + s.token + "/", 403},
		{"GET", "attacker.example", s.Path(), 421},
		{"GET", "attacker.example:8080", s.Path() + "api/store", 421},
		{"GET", "localhost.attacker.example", s.Path(), 421},
		{"GET", "10.0.0.1", s.Path(), 421},
		{"GET", "", s.Path(), 421},
		{"POST", "localhost", s.Path() + "api/rows", 405},
		{"DELETE", "localhost", s.Path() + "api/store", 405},
		{"GET", "localhost", s.Path() + "api/reopen", 405},
		{"GET", "localhost", s.Path() + "api/nothing", 404},
		{"GET", "localhost", s.Path() + "../server.go", 307}, // to where a token is missing
		{"GET", "localhost", s.Path() + "vendor/", 404},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(tc.method, "http://localhost/", nil)
		r.Host, r.URL.Path = tc.host, tc.path
		s.ServeHTTP(w, r)
		require.Equal(t, tc.status, w.Code, "%+v", tc)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", "%+v", tc)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"), "%+v", tc)
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), "%+v", tc)
		if tc.status != 200 {
			require.NotContains(t, w.Body.String(), s.token)
		}
	}
}

func TestTokensAreDrawnAnew(t *testing.T) {
	sample := newSample(t, 1)
	a, b := sample.served(t), sample.served(t)
	require.NotEqual(t, a.Path(), b.Path())
	require.Len(t, a.token, 32)
}

func TestThePageFetchesNothingFromElsewhere(t *testing.T) {
	s := newSample(t, 1).served(t)
	reference := regexp.MustCompile(`(?:src|href)="([^"#]+)"|from "([^"]+)"|url\(([^)]+)\)`)
	elsewhere := regexp.MustCompile(`(?:https?:)?//[a-z]`)
	seen := 0
	require.NoError(t, fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "assets/vendor/") {
			return err
		}
		text, err := assets.ReadFile(name)
		require.NoError(t, err)
		bare := strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", "")
		require.NotRegexp(t, elsewhere, bare, name)
		require.NotContains(t, bare, "innerHTML", name)
		require.NotRegexp(t, `<script>|<style|\sstyle="|\son[a-z]+="`, bare, name) // the policy forbids them
		for _, found := range reference.FindAllStringSubmatch(bare, -1) {
			path := strings.TrimPrefix(found[1]+found[2]+found[3], "./")
			status, body := get(s, path)
			require.Equal(t, http.StatusOK, status, "%s of %s", path, name)
			require.NotEmpty(t, body)
			seen++
		}
		return nil
	}))
	require.Greater(t, seen, 10)
	status, page := get(s, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(page), "<title>stoa view</title>")
}

func TestWhatIsVendoredIsWhatItsNoteSays(t *testing.T) {
	note, err := assets.ReadFile("assets/vendor/README.md")
	require.NoError(t, err)
	lines := regexp.MustCompile("(?m)^\\| `(.+?)` \\| .*`([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(note), -1)
	require.Len(t, lines, 1)
	for _, l := range lines {
		text, err := assets.ReadFile("assets/vendor/" + l[1])
		require.NoError(t, err)
		sum := idNamed(string(text))
		require.Equal(t, l[2], hex.EncodeToString(sum[:]))
	}
}

func TestNoAnswerShowsASecret(t *testing.T) {
	sample := newSample(t, 4)
	s := sample.served(t)
	paths := []string{"api/store", "api/contexts", "api/namespaces", "api/groups", "api/survey", "api/findings?full=1&start=1",
		"api/deltas?context=" + sample.context.String(), "api/ops?namespace=" + sample.namespace.String(), "api/group?id=" + sample.child.String()}
	redacted := 0
	for c := range column.All {
		page := ask[pageDoc](t, s, "rows", "column", c.String(), "limit", "200")
		for _, row := range page.Rows {
			paths = append(paths, fmt.Sprintf("api/row?column=%s&key=%s", c, row.At))
		}
		paths = append(paths, "api/rows?column="+c.String()+"&limit=200")
	}
	ended(t, s, "survey")
	ended(t, s, "findings", "full", "1", "start", "1")
	require.Len(t, sample.secrets, 6)
	for _, path := range paths {
		status, body := get(s, path)
		require.Equal(t, http.StatusOK, status, path)
		redacted += bytes.Count(body, []byte("redacted:"))
		for _, secret := range sample.secrets {
			require.NotContains(t, strings.ToLower(string(body)), hex.EncodeToString(secret.Bytes()), path)
		}
	}
	require.GreaterOrEqual(t, redacted, 2*len(sample.secrets)) // each in a page and by itself
}

// ended waits until work that reads the whole store has ended.
func ended(t *testing.T, s *Server, path string, query ...string) jobDoc {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if doc := ask[jobDoc](t, s, path, query...); doc.State != "running" {
			return doc
		}
	}
	t.Fatal("it does not end")
	return jobDoc{}
}

func TestTheSurveyAndTheFindingsAreThoseOfInspect(t *testing.T) {
	sample := newSample(t, 2)
	sample.put(t, func(b *engine.Batch) { b.Put(column.Alias, []byte{9, 9}, []byte("what is this")) })
	s := sample.served(t)
	source := inspect.From(sample.store, inspect.Facts{})
	want, err := inspect.Survey(t.Context(), source, inspect.SurveyOptions{Contexts: 20})
	require.NoError(t, err)
	doc := ended(t, s, "survey")
	require.Equal(t, "done", doc.State)
	require.Equal(t, want.Columns, doc.Overview.Columns)
	require.Equal(t, want.Contexts, doc.Overview.Contexts)

	require.Equal(t, "idle", ask[jobDoc](t, s, "findings").State)
	doc = ended(t, s, "findings", "start", "1")
	require.Equal(t, "done", doc.State)
	require.NotZero(t, doc.Verdict.Codes["key"])
	require.Equal(t, "Alias", doc.Findings[0].Column)
	require.False(t, doc.Verdict.Full)
	full := ended(t, s, "findings", "full", "1", "start", "1")
	require.True(t, full.Verdict.Full)
	status, _ := get(s, "api/findings?full=yes")
	require.Equal(t, http.StatusBadRequest, status)
}

func TestReopeningShowsTheStateOfNow(t *testing.T) {
	sample := newSample(t, 1)
	s := sample.served(t)
	ended(t, s, "findings", "start", "1")
	before := ask[pageDoc](t, s, "rows", "column", "Generic", "prefix", hex.EncodeToString([]byte("stoa.test")))
	require.Empty(t, before.Rows)
	sample.put(t, func(b *engine.Batch) {
		b.Put(column.Generic, []byte("stoa.test\x00\x00\x00\x00\x00\x00\x00k"), []byte("v"))
	})
	require.Empty(t, ask[pageDoc](t, s, "rows", "column", "Generic", "prefix", hex.EncodeToString([]byte("stoa.test"))).Rows)

	status, body := post(s, "api/reopen")
	require.Equal(t, http.StatusOK, status, "%s", body)
	require.Len(t, ask[pageDoc](t, s, "rows", "column", "Generic", "prefix", hex.EncodeToString([]byte("stoa.test"))).Rows, 1)
	require.Equal(t, "idle", ask[jobDoc](t, s, "findings").State, "what was found is of another state")
}

func TestServedOnASocketUntilItIsTold(t *testing.T) {
	s := newSample(t, 1).served(t)
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "view.sock")
	ln, root, err := Listen("unix:" + path)
	require.NoError(t, err)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode().Perm())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get(root + s.Path() + "api/store")
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Contains(t, string(body), `"where":"/var/lib/stoa"`)
	stop()
	require.NoError(t, <-done)
	require.NoFileExists(t, path)
}

func TestItListensOnThisMachineOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":8080", "[::]:0", "192.168.1.1:80", "example.com:80", "localhost", "", "/run/x.sock", "127.0.0.1.example.com:80"} {
		_, _, err := Listen(address)
		require.ErrorIs(t, err, ErrListen, address)
	}
	_, _, err := Listen("unix:" + strings.Repeat("x", 200))
	require.Error(t, err)
}
