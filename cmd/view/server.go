package view

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"time"

	"github.com/stoadb/stoa/cmd/inspect"
)

//go:embed assets
var assets embed.FS // it is never written to

// Options say what a Server shows. Open is required.
type Options struct {
	// Open opens the store; it is called at the start, and when the reader asks
	// for the state of now. Its sources are closed by the server.
	Open func() (*inspect.Source, error)
	// Verify does the work of inspect.Verify on the store; nil: it is called on
	// the source. A command that reads a directory in a process of its own, which
	// damage may end, passes that.
	Verify func(ctx context.Context, o inspect.VerifyOptions, visit func(inspect.Finding) error) (*inspect.Verdict, error)
	// Rand draws the token; nil: crypto/rand.
	Rand io.Reader
}

// Server is the page and the data of one store. It is an http.Handler, safe for
// concurrent use.
type Server struct {
	store  *held // nil: it shows something else than a store
	token  string
	verify func(context.Context, inspect.VerifyOptions, func(inspect.Finding) error) (*inspect.Verdict, error)
	jobs   *jobs
	inside http.Handler // what the token leads to
}

// tokenBytes is how many random bytes a token has.
const tokenBytes = 24

// New opens the store and returns its server. It returns the errors of
// Options.Open.
func New(o Options) (*Server, error) {
	s, err := newServer(o.Rand)
	if err != nil {
		return nil, err
	}
	store, err := hold(o.Open)
	if err != nil {
		return nil, err
	}
	s.store, s.verify, s.jobs = store, o.Verify, newJobs()
	if s.verify == nil {
		s.verify = s.verifyHere
	}
	page, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("view: %w", err), store.close())
	}
	s.inside = s.routes(page)
	return s, nil
}

// newServer returns a server without answers, with a token that random draws; nil: crypto/rand.
func newServer(random io.Reader) (*Server, error) {
	if random == nil {
		random = rand.Reader
	}
	token := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, token); err != nil {
		return nil, fmt.Errorf("view: draw a token: %w", err)
	}
	return &Server{token: base64.RawURLEncoding.EncodeToString(token)}, nil
}

// Path returns the path of the page, which begins with the token: whoever has it
// may read what the page shows.
func (s *Server) Path() string { return "/" + s.token + "/" }

// routes are the answers behind the token.
func (s *Server) routes(page fs.FS) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.FileServerFS(page))
	mux.Handle("GET /{file}", http.FileServerFS(page))
	mux.Handle("GET /vendor/{file}", http.FileServerFS(page))
	for path, answer := range map[string]func(*http.Request) (any, error){
		"/api/store":      s.facts,
		"/api/survey":     s.survey,
		"/api/findings":   s.findings,
		"/api/rows":       s.rows,
		"/api/row":        s.row,
		"/api/contexts":   s.contexts,
		"/api/deltas":     s.deltas,
		"/api/namespaces": s.namespaces,
		"/api/ops":        s.ops,
		"/api/op":         s.op,
		"/api/groups":     s.groups,
		"/api/group":      s.group,
		"/api/tenants":    s.tenants,
		"/api/records":    s.records,
		"/api/record":     s.record,
		"/api/board":      s.board,
		"/api/queue":      s.queue,
		"/api/locks":      s.locks,
		"/api/jobs":       s.jobQueues,
		"/api/buckets":    s.bucketList,
		"/api/entries":    s.entries,
		"/api/entry":      s.bucketKey,
		"/api/contract":   s.serviceContract,
		"/api/decision":   s.decision,
		"/api/peers":      s.peers,
		"/api/keyvalues":  s.keyValues,
		"/api/blobs":      s.blobs,
		"/api/blob":       s.blob,
		"/api/names":      s.names,
		"/api/search":     s.search,
		"/api/live":       s.live,
	} {
		mux.Handle("GET "+path, data(answer))
	}
	mux.Handle("POST /api/reopen", data(s.reopen))
	return mux
}

// factsDoc is what the store is now, and what the schema has.
type factsDoc struct {
	Store     inspect.Facts `json:"store"`
	Shown     uint64        `json:"shown,string"`        // the sequence of the state that all else is of
	Keys      uint64        `json:"keys"`                // about how many; 0: not known
	Unchecked string        `json:"unchecked,omitempty"` // why the fast checks have not begun
	Columns   []columnDoc   `json:"columns"`
}

// facts answers what the store is, and lets the fast checks of a small one begin: it is
// the first that the page asks for.
func (s *Server) facts(*http.Request) (any, error) {
	doc := factsDoc{Columns: schema()}
	var size uint64
	err := s.store.with(func(src *inspect.Source) (err error) {
		doc.Shown = src.Facts.Sequence
		doc.Keys, size = src.Extent()
		doc.Store, err = src.Today()
		return err
	})
	if err == nil {
		doc.Unchecked = s.checkSmall(doc.Keys, size)
	}
	return doc, err
}

// reopen opens the store anew, in the state of now. With keep=1 what was counted and checked
// stays as it was, and the store too, if that is under way.
func (s *Server) reopen(r *http.Request) (any, error) {
	if r.URL.Query().Get("keep") == "1" {
		return struct{}{}, s.jobs.between(s.store.reopen)
	}
	return struct{}{}, s.jobs.stop(s.store.reopen)
}

// Serve answers on ln until ctx is done, and closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("view: serve: %w", err)
	case <-ctx.Done():
	}
	err := h.Close()
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// Close ends what is under way and closes the store.
func (s *Server) Close() error {
	if s.store == nil {
		return nil
	}
	return s.jobs.stop(s.store.close)
}
