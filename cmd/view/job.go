package view

import (
	"context"
	"maps"
	"net/http"
	"sync"

	"github.com/stoadb/stoa/cmd/inspect"
)

// maxFindings is how many findings of a verification are kept for the page; the
// verdict counts all.
const maxFindings = 1000

// jobDoc is what the page learns of work that reads the whole store.
type jobDoc struct {
	State    string            `json:"state"` // idle, running, done or failed
	Rows     uint64            `json:"rows"`  // read so far
	Total    uint64            `json:"total"` // about how many there are; 0: not known
	Error    string            `json:"error,omitempty"`
	Overview *inspect.Overview `json:"overview,omitempty"`
	Verdict  *inspect.Verdict  `json:"verdict,omitempty"`
	Findings []inspect.Finding `json:"findings,omitempty"` // the first of them
	Columns  map[string]uint64 `json:"columns,omitempty"`  // findings by column
}

// job is such work. Its methods are safe for concurrent use.
type job struct {
	mu  sync.Mutex
	doc jobDoc
}

func (j *job) now() jobDoc {
	j.mu.Lock()
	defer j.mu.Unlock()
	doc := j.doc
	doc.Findings = doc.Findings[:len(doc.Findings):len(doc.Findings)]
	doc.Columns = maps.Clone(doc.Columns)
	return doc
}

// progress counts rows, and returns how many were read so far.
func (j *job) progress(rows uint64) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.doc.Rows += rows
	return j.doc.Rows
}

func (j *job) finding(f inspect.Finding) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.doc.Findings) < maxFindings {
		j.doc.Findings = append(j.doc.Findings, f)
	}
	if j.doc.Columns == nil {
		j.doc.Columns = map[string]uint64{}
	}
	if f.Column != "" {
		j.doc.Columns[f.Column]++
	}
	return nil
}

// end takes what the work has come to.
func (j *job) end(o *inspect.Overview, v *inspect.Verdict, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.doc.State, j.doc.Overview, j.doc.Verdict = "done", o, v
	if err != nil {
		j.doc.State, j.doc.Error = "failed", err.Error()
	}
}

// jobs are those of one state of the store, by what they do.
type jobs struct {
	mu     sync.Mutex
	byName map[string]*job
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

func newJobs() *jobs {
	js := &jobs{byName: map[string]*job{}}
	js.ctx, js.cancel = context.WithCancel(context.Background())
	return js
}

// get returns a job; if start is set, it is begun if it was not, and begun again
// if it has failed.
func (js *jobs) get(name string, start bool, work func(context.Context, *job)) jobDoc {
	js.mu.Lock()
	defer js.mu.Unlock()
	j := js.byName[name]
	if j != nil && (!start || j.now().State != "failed") {
		return j.now()
	}
	if !start {
		return jobDoc{State: "idle"}
	}
	j = &job{doc: jobDoc{State: "running"}}
	js.byName[name] = j
	ctx := js.ctx
	js.wait.Go(func() { work(ctx, j) })
	return j.now()
}

// stop ends all jobs, waits for them and forgets them. None begins before then
// returns.
func (js *jobs) stop(then func() error) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.cancel()
	js.wait.Wait()
	js.byName = map[string]*job{}
	js.ctx, js.cancel = context.WithCancel(context.Background())
	return then()
}

// between calls do unless a job is under way: none begins before do returns.
func (js *jobs) between(do func() error) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.byName {
		if j.now().State == "running" {
			return nil
		}
	}
	return do()
}

// survey answers what the store holds, which it counts once.
func (s *Server) survey(*http.Request) (any, error) {
	return s.jobs.get("survey", true, func(ctx context.Context, j *job) {
		var out *inspect.Overview
		err := s.store.with(func(src *inspect.Source) (err error) {
			j.expect(src.Keys())
			out, err = inspect.Survey(ctx, src, inspect.SurveyOptions{Contexts: 20, Progress: func(rows uint64) { j.progress(rows) }})
			return err
		})
		j.end(out, nil, err)
	}), nil
}

func (j *job) expect(total uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.doc.Total = total
}

// findings answers what verify finds; start=1 lets it begin.
func (s *Server) findings(r *http.Request) (any, error) {
	q := r.URL.Query()
	name := "fast"
	if full := q.Get("full"); full == "1" {
		name = "full"
	} else if full != "" && full != "0" {
		return nil, bad("full: %q is neither 0 nor 1", full)
	}
	return s.jobs.get(name, q.Get("start") == "1", s.verifying(inspect.VerifyOptions{Full: name == "full"}, 0)), nil
}

// verifyHere verifies the source in this process.
func (s *Server) verifyHere(ctx context.Context, o inspect.VerifyOptions, visit func(inspect.Finding) error) (v *inspect.Verdict, err error) {
	err = s.store.with(func(src *inspect.Source) (err error) {
		v, err = inspect.Verify(ctx, src, o, visit)
		return err
	})
	return v, err
}
