package view

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// contentPolicy is what the page may load: what this server has, and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP is http.Handler's. It answers only those who have the token.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the token is in the address
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !local(r.Host) {
		http.Error(w, "this page answers to localhost only", http.StatusMisdirectedRequest)
		return
	}
	token, rest, slash := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !slash || !s.knows(token) {
		http.Error(w, "the address lacks the token that `stoa view` has printed", http.StatusForbidden)
		return
	}
	inside := r.Clone(r.Context())
	inside.URL.Path, inside.URL.RawPath = "/"+rest, ""
	s.inside.ServeHTTP(w, inside)
}

// knows compares a token with that of the server, in a time that says nothing of
// either.
func (s *Server) knows(token string) bool {
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// local reports whether a request was meant for this machine. A page elsewhere
// whose name is made to lead here sends its own name.
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
