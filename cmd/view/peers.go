package view

import (
	"net/http"
	"time"

	"github.com/stoadb/stoa/cmd/inspect"
)

// mostPeers is how many peers the page shows.
const mostPeers = 200

// peerDoc is a node that has had the same of a namespace as this one.
type peerDoc struct {
	Namespace string `json:"namespace"`
	Alias     string `json:"alias,omitempty"`    // of the namespace
	Identity  string `json:"identity,omitempty"` // empty: it did not say who it is
	Name      string `json:"name,omitempty"`
	At        string `json:"at"` // the last time, RFC 3339
}

type peersDoc struct {
	Peers []peerDoc `json:"peers"`
	More  bool      `json:"more,omitempty"` // than mostPeers
	gaps
}

// peers answers with whom this node has exchanged, and when they last had the same.
func (s *Server) peers(*http.Request) (any, error) {
	doc := peersDoc{Peers: []peerDoc{}}
	err := s.store.governed(func(_ *inspect.Source, rules *governance) error {
		list, err := rules.ops.Met(mostPeers + 1)
		if passable(err) != nil {
			return err
		}
		if doc.More = len(list) > mostPeers; doc.More {
			list = list[:mostPeers]
		}
		for _, m := range list {
			p := peerDoc{Namespace: m.Namespace.String(), At: m.At.UTC().Format(time.RFC3339)}
			named, err := rules.names(m.Namespace)
			if passable(err) != nil {
				return err
			}
			p.Alias = named[p.Namespace]
			if !m.Identity.IsZero() {
				p.Identity = m.Identity.String()
				if p.Name, _, err = rules.member(m.Namespace, m.Identity); err != nil {
					return err
				}
			}
			doc.Peers = append(doc.Peers, p)
		}
		doc.gaps = rules.gaps()
		return nil
	})
	return doc, err
}
