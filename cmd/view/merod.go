package view

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"slices"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/engine"
)

const (
	merodRows     = 100 // on a page
	merodFindings = 1000
)

// merodServer has the pages of the database of a merod. They are whole when they come, without
// scripts.
type merodServer struct{ d *merod.Database }

// merodPage is what a page shows.
type merodPage struct {
	At, Title, Where, Error   string
	Families                  []string
	Overview                  *merod.Overview
	Column, Type, After, Next string
	Rows                      []merodRow
	Findings                  []inspect.Finding
	More                      uint64 // findings that are not shown
}

// merodRow is a row with its key and value as text.
type merodRow struct {
	merod.Row
	Text string
}

// NewMerod returns the server of a database of merod, with the same guards as that of a store.
// It needs no Close.
func NewMerod(d *merod.Database) (*Server, error) {
	s, err := newServer(nil)
	if err != nil {
		return nil, err
	}
	page, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	m := &merodServer{d}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", m.overview)
	mux.HandleFunc("GET /rows", m.rows)
	mux.HandleFunc("GET /findings", m.findings)
	for _, file := range []string{"/style.css", "/icon.svg"} {
		mux.Handle("GET "+file, http.FileServerFS(page))
	}
	s.inside = mux
	return s, nil
}

func (m *merodServer) page(at, title string) *merodPage {
	return &merodPage{At: at, Title: title, Where: m.d.Where, Families: m.d.Families()}
}

// write writes a page, with what it could not be made for.
func (p *merodPage) write(w http.ResponseWriter, err error) {
	status := http.StatusOK
	if err != nil {
		p.Error, status = err.Error(), statusOf(err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, p.draw()) // whoever has asked is gone
}

func (m *merodServer) overview(w http.ResponseWriter, r *http.Request) {
	p := m.page("overview", "Overview")
	var err error
	p.Overview, err = merod.Survey(r.Context(), m.d, nil)
	p.write(w, err)
}

func (m *merodServer) findings(w http.ResponseWriter, r *http.Request) {
	p := m.page("findings", "Findings")
	_, err := merod.Verify(r.Context(), m.d, nil, func(f inspect.Finding) error {
		if len(p.Findings) < merodFindings {
			p.Findings = append(p.Findings, f)
		} else {
			p.More++
		}
		return nil
	})
	p.write(w, err)
}

// rows shows rows of a column family, of one type if there is one, behind a key.
func (m *merodServer) rows(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := m.page("rows", q.Get("column"))
	p.Column, p.Type, p.After = q.Get("column"), q.Get("type"), q.Get("after")
	if p.Type != "" {
		p.Title += ": " + p.Type
	}
	p.write(w, m.list(r, p))
}

func (m *merodServer) list(r *http.Request, p *merodPage) error {
	if !slices.Contains(m.d.Families(), p.Column) {
		return bad("column: there is no column family %q", p.Column)
	}
	after, err := hex.DecodeString(p.After)
	if err != nil {
		return bad("after: %q is not hex", p.After)
	}
	if p.After != "" {
		after = append(after, 0)
	}
	for row, err := range m.d.Rows(p.Column, engine.Range{Start: after}) {
		if err == nil {
			err = r.Context().Err()
		}
		if err != nil {
			return err
		}
		if name, _ := merod.Kind(p.Column, row.Key, row.Value); p.Type != "" && name != p.Type {
			continue
		}
		if len(p.Rows) == merodRows {
			return nil
		}
		shown, err := newMerodRow(merod.Explain(p.Column, row.Key, row.Value))
		if err != nil {
			return err
		}
		p.Rows = append(p.Rows, shown)
		if p.Next = ""; len(p.Rows) == merodRows {
			p.Next = hex.EncodeToString(row.Key)
		}
	}
	p.Next = "" // there are no more
	return nil
}

func newMerodRow(row merod.Row) (merodRow, error) {
	out := merodRow{Row: row}
	if row.Fault != "" {
		return out, nil
	}
	var b bytes.Buffer
	for _, part := range []json.RawMessage{row.Key, row.Value} {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if err := json.Indent(&b, part, "", "  "); err != nil {
			return out, err
		}
	}
	out.Text = b.String()
	return out, nil
}
