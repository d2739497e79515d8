package carry

import (
	"encoding/hex"
	"encoding/json"

	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
	"github.com/stoadb/stoa/keys"
)

// merodKind is what kind of row it is; "": that is not known.
func merodKind(family string, row diskfile.Row) (name, layout string) {
	return merod.Kind(family, row.Key, row.Value)
}

// explained is decode where a step before has told of what is not explained.
func (c *carrier) explained(family string, row diskfile.Row, doc any) (ok bool, err error) {
	r := merod.Explain(family, row.Key, row.Value)
	if r.Fault != "" {
		return false, nil
	}
	return true, json.Unmarshal(r.Value, doc)
}

// hexBytes is bytes that are JSON as hex.
type hexBytes []byte

// UnmarshalText accepts what an explained row has.
func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// merodApplication is a row of Application.
type merodApplication struct {
	Bytecode codec.BlobID   `json:"bytecode"`
	Size     uint64         `json:"size,string"`
	Source   string         `json:"source"`
	Metadata hexBytes       `json:"metadata"`
	Compiled codec.BlobID   `json:"compiled"`
	Package  string         `json:"package"`
	Version  string         `json:"version"`
	Signer   string         `json:"signer_id"`
	Services []merodService `json:"services"`
}

type merodService struct {
	Name     string       `json:"name"`
	Bytecode codec.BlobID `json:"bytecode"`
	Compiled codec.BlobID `json:"compiled"`
}

// apps takes over the applications. The code of one whose blob is not there has no id.
func (c *carrier) apps() error {
	var b engine.Batch
	err := c.each("Application", nil, func(row diskfile.Row) error {
		var a merodApplication
		if ok, err := c.decode("Application", row, &a); !ok || err != nil {
			return err
		}
		lacks := false
		blobID := func(id codec.BlobID) codec.BlobID {
			here, ok := c.blobIDs[id]
			lacks = lacks || !ok && !id.IsZero()
			return here
		}
		meta := codec.ApplicationMeta{
			ApplicationID: codec.ApplicationID(row.Key), Bytecode: blobID(a.Bytecode), Size: a.Size, Source: a.Source, Metadata: a.Metadata,
			Compiled: blobID(a.Compiled), Package: a.Package, Version: a.Version, SignerID: a.Signer,
		}
		for _, s := range a.Services {
			meta.Services = append(meta.Services, codec.ServiceMeta{Name: s.Name, Bytecode: blobID(s.Bytecode), Compiled: blobID(s.Compiled)})
		}
		if lacks {
			if err := c.leave("Application", row, "blobs of its code are not there, whose ids are zeros now: the rest of the row is taken over"); err != nil {
				return err
			}
		}
		c.applications[meta.ApplicationID] = meta
		c.out.Applications++
		engine.Put(&b, keys.ApplicationMeta{App: meta.ApplicationID}, meta)
		return c.apply(&b, false)
	})
	if err != nil {
		return err
	}
	return c.apply(&b, true)
}

// aliases takes over the names of what is there.
func (c *carrier) aliases() error {
	var b engine.Batch
	err := c.each("Alias", nil, func(row diskfile.Row) error {
		k, err := keys.Alias{}.Parse(row.Key)
		if err != nil {
			return c.leave("Alias", row, "a name that stoa does not take: names are 1 to 50 bytes of UTF-8 without NUL")
		}
		a, err := codec.AliasValue{}.Decode(row.Value)
		if err != nil {
			return c.leave("Alias", row, whyUnknown)
		}
		there := false
		switch k.Kind {
		case keys.AliasContext:
			there = c.there[codec.ContextID(a.ID)]
		case keys.AliasIdentity:
			there = c.there[k.Scope]
		case keys.AliasApplication:
			_, there = c.applications[codec.ApplicationID(a.ID)]
		}
		if !there {
			return c.leave("Alias", row, "what it names is not there")
		}
		c.out.Aliases++
		engine.Put(&b, k, a)
		return c.apply(&b, false)
	})
	if err != nil {
		return err
	}
	return c.apply(&b, true)
}

// generic takes over the rows of the scopes that merod and stoa both know.
func (c *carrier) generic() error {
	var b engine.Batch
	err := c.each("Generic", nil, func(row diskfile.Row) error {
		if !merodScope(row) {
			return c.leave("Generic", row, "a scope, or a form of its rows, that stoa does not know")
		}
		c.out.Generic++
		b.Put(column.Generic, row.Key, row.Value)
		return c.apply(&b, false)
	})
	if err != nil {
		return err
	}
	return c.apply(&b, true)
}

// merodScope reports whether a row of Generic is one that a store may have, of merod's own
// scopes.
func merodScope(row diskfile.Row) bool {
	if len(row.Key) < len(keys.Scope{}) || keys.CheckKey(column.Generic, row.Key) != nil {
		return false
	}
	for info := range keys.Scopes() {
		if info.Scope() != keys.Scope(row.Key) {
			continue
		}
		switch info.Name {
		case "sync-in-progres", "ssl_certs:server", "sse-sessions":
			return info.CheckValue(row.Value) == nil
		}
	}
	return false
}
