package keys

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stoadb/stoa/codec"
)

// ScopeInfo declares a named scope of the Generic column. Its methods are safe
// for concurrent use.
type ScopeInfo struct {
	Name     string // of 1 to 16 printable ASCII characters
	Holds    string // what it holds, for people
	Fragment string // the layout of what follows the scope in a key, for people
	Value    string // the form of the values, for people

	scope    Scope
	fragment func(fragment []byte) (fault string) // nil: anything goes
	value    func(value []byte) error             // nil: opaque bytes
}

// Scope returns the leading bytes of the scope's keys.
func (s ScopeInfo) Scope() Scope { return s.scope }

// CheckFragment returns an [*Error] unless the scope has keys with this fragment.
func (s ScopeInfo) CheckFragment(fragment []byte) error {
	if s.fragment == nil {
		return nil
	}
	if fault := s.fragment(fragment); fault != "" {
		return genericError("fragment", len(s.scope), fmt.Sprintf("in scope %s: %s", s.Name, fault))
	}
	return nil
}

// CheckValue returns an error that is [codec.ErrMalformed] unless the scope has
// values like this.
func (s ScopeInfo) CheckValue(value []byte) error {
	if s.value == nil {
		return nil
	}
	return s.value(value)
}

// scopes is the one list of named scopes: whoever needs another declares it
// here, with its checks. It is never written to.
var scopes = []ScopeInfo{
	declare(ScopeInfo{Name: "stoa.test", Holds: "free for tests and tools", Fragment: "any", Value: "opaque"}),
	declare(ScopeInfo{Name: "sync-in-progres", Holds: "node software: contexts being synced", Fragment: "context_id 32",
		Value: "opaque", fragment: oneID}),
	declare(ScopeInfo{Name: "ssl_certs:server", Holds: "node software: the server's certificate", Fragment: "32 zeros",
		Value: "opaque", fragment: zeroID}),
	declare(ScopeInfo{Name: "sse-sessions", Holds: "node software: event stream sessions", Fragment: "session 32",
		Value: "opaque", fragment: oneID}),
	declare(ScopeInfo{Name: "dag-clock", Holds: "the hybrid clock's reservation", Fragment: "empty",
		Value: "u64 LE: NTP64 time that every stamp is below (dag/hlc/README.md)", fragment: nothing, value: oneU64}),
	declare(ScopeInfo{Name: "dag-uptime", Holds: "what the physical clock said when it was last in order", Fragment: "empty",
		Value: "boot 16 ‖ Unix time in ns u64 LE ‖ uptime in ns u64 LE (dag/hlc/README.md)", fragment: nothing, value: uptimeValue}),
	declare(ScopeInfo{Name: "dag-trie", Holds: "nodes of a context's Merkle trie", Fragment: "context_id 32 ‖ nibbles, a byte each: none, or 2 to 63",
		Value: "a page (dag/merkle/README.md)", fragment: triePath}),
	declare(ScopeInfo{Name: "dag-tail", Holds: "where the deltas of a context begin that the rows of its trie do not know", Fragment: "context_id 32",
		Value: "seq u64 LE of the last delta before it ‖ root 32 of the rows (dag/README.md)", fragment: bytesOf(32), value: tailValue}),
	declare(ScopeInfo{Name: "dag-order", Holds: "applied deltas of a context, in the order in which they were applied here",
		Fragment: "context_id 32 ‖ seq u64", Value: "delta_id 32 ‖ hlc 24 ‖ parents u32 LE ‖ seq of each u64 LE ‖ for each key that it writes the seq of the version before u64 LE (dag/README.md)",
		fragment: bytesOf(32 + 8), value: orderValue}),
	declare(ScopeInfo{Name: "dag-seq", Holds: "the places of applied deltas in dag-order", Fragment: "context_id 32 ‖ delta_id 32",
		Value: "u64 LE: seq", fragment: bytesOf(32 + 32), value: oneU64}),
	declare(ScopeInfo{Name: "dag-head", Holds: "heads of a context beyond the first 64 by id, which are in Meta", Fragment: "context_id 32 ‖ delta_id 32",
		Value: "u64 LE: seq", fragment: bytesOf(32 + 32), value: oneU64}),
	declare(ScopeInfo{Name: "dag-gone", Holds: "which delta deleted a key of a context", Fragment: "context_id 32 ‖ SHA-256(app_key) 32",
		Value: "u64 LE: seq (dag/README.md)", fragment: bytesOf(32 + 32), value: versionNumber("dag-gone")}),
	declare(ScopeInfo{Name: "dag-late", Holds: "writes to the keys of a context that came when there was a newer one, the newest of a key first",
		Fragment: "context_id 32 ‖ SHA-256(app_key) 32 ‖ ^time u64 ‖ ^node_id u128 ‖ ^delta_id 32",
		Value:    "u64 LE: seq (dag/README.md)", fragment: bytesOf(32 + 32 + 8 + 16 + 32), value: versionNumber("dag-late")}),
	declare(ScopeInfo{Name: "dag-version", Holds: "what builds before dag-gone kept of writes to the keys of a context",
		Fragment: "context_id 32 ‖ SHA-256(app_key) 32 ‖ ^time u64 ‖ ^node_id u128 ‖ ^delta_id 32",
		Value:    "01 ‖ SHA-256(value) 32 of a put, 02 of a delete", fragment: bytesOf(32 + 32 + 8 + 16 + 32), value: versionValue}),
	declare(ScopeInfo{Name: "dag-pending", Holds: "deltas that wait, and for what",
		Fragment: "a ‖ context_id 32 ‖ arrival u64, i | m | r ‖ context_id 32 ‖ delta_id 32, w ‖ context_id 32 ‖ parent 32 ‖ child 32",
		Value:    "a: delta_id 32 ‖ bytes u64 LE; i: arrival u64 LE; others: empty (dag/README.md)",
		fragment: pendingFragment, value: pendingValue}),
	declare(ScopeInfo{Name: "dag-refused", Holds: "deltas that were refused", Fragment: "s ‖ context_id 32 ‖ seq u64, i ‖ context_id 32 ‖ delta_id 32",
		Value: "s: a refusal; i: seq u64 LE (dag/README.md)", fragment: refusedFragment, value: refusedValue}),
	declare(ScopeInfo{Name: "dag-context", Holds: "the base of a seeded context, and how far seeding has come", Fragment: "context_id 32",
		Value:    "base delta_id 32 ‖ its time u64 LE ‖ its node_id u128 LE ‖ flags u8 ‖ phase u8, and maybe how many deltas were withdrawn u64 LE (dag/README.md)",
		fragment: bytesOf(32), value: contextValue}),
	declare(ScopeInfo{Name: "dag-cursor", Holds: "how far the followers of a context have come", Fragment: "context_id 32 ‖ name, 1 to 64 bytes",
		Value: "u64 LE: seq", fragment: cursorFragment, value: oneU64}),
	declare(ScopeInfo{Name: "dag-seeded", Holds: "values of a context's base that have been overwritten or deleted since",
		Fragment: "context_id 32 ‖ SHA-256(app_key) 32", Value: "length of app_key u32 LE ‖ app_key ‖ value", fragment: bytesOf(32 + 32), value: stateValue}),
	declare(ScopeInfo{Name: "dag-seeding", Holds: "how far a snapshot has been received", Fragment: "context_id 32",
		Value: "rows u64 LE ‖ root 32 ‖ base and place to go on from, each as length u32 LE and bytes (dag/README.md)", fragment: bytesOf(32), value: seedingValue}),
	declare(ScopeInfo{Name: "dag-aside", Holds: "deltas of a context from before it was seeded, to be offered to it again",
		Fragment: "context_id 32 ‖ time u64 ‖ delta_id 32", Value: "the delta as it travels (dag/README.md)", fragment: bytesOf(32 + 8 + 32)}),
	declare(ScopeInfo{Name: "dag-staging", Holds: "the state of a snapshot that is being received",
		Fragment: "context_id 32 ‖ SHA-256(app_key) 32", Value: "length of app_key u32 LE ‖ app_key ‖ value", fragment: bytesOf(32 + 32), value: stateValue}),
	declare(ScopeInfo{Name: "dag-signed", Holds: "envelopes of deltas that count", Fragment: "context_id 32 ‖ delta_id 32",
		Value: "envelope_id 32 ‖ time u64 LE ‖ the envelope without what is sealed (namespace/content/README.md)", fragment: bytesOf(32 + 32), value: timedValue}),
	declare(ScopeInfo{Name: "dag-envelope", Holds: "the deltas of envelopes that count", Fragment: "context_id 32 ‖ envelope_id 32",
		Value: "delta_id 32", fragment: bytesOf(32 + 32), value: idValue("dag-envelope")}),
	declare(ScopeInfo{Name: "dag-cut", Holds: "what the authors of envelopes that count knew of governance",
		Fragment: "h ‖ context_id 32 ‖ cut 32, m ‖ context_id 32 ‖ cut 32 ‖ envelope_id 32",
		Value:    "h: op_id 32 of each head; m: empty (namespace/content/README.md)", fragment: cutFragment, value: cutValue}),
	declare(ScopeInfo{Name: "dag-held", Holds: "envelopes that are set aside", Fragment: "context_id 32 ‖ envelope_id 32",
		Value: "delta_id 32 ‖ time u64 LE ‖ the envelope as it travels (namespace/content/README.md)", fragment: bytesOf(32 + 32), value: timedValue}),
	declare(ScopeInfo{Name: "gov-op", Holds: "ops of a namespace in the order in which this node took them", Fragment: "namespace_id 32 ‖ number u64",
		Value:    "op_id 32 ‖ number in its group's log u64 LE, or 0 ‖ why it is void for good u8, or 0 ‖ of each key that it hands out its state u8 (namespace/README.md)",
		fragment: bytesOf(32 + 8), value: govOpValue}),
	declare(ScopeInfo{Name: "gov-pending", Holds: "ops of a namespace that wait for ancestors", Fragment: "namespace_id 32 ‖ arrival u64",
		Value: "the op as it travels (namespace/README.md)", fragment: bytesOf(32 + 8)}),
	declare(ScopeInfo{Name: "gov-reissued", Holds: "ops of this node that a revocation voided, and that were proposed again",
		Fragment: "namespace_id 32 ‖ op_id 32", Value: "op_id 32: the new one", fragment: bytesOf(32 + 32), value: idValue("gov-reissued")}),
	declare(ScopeInfo{Name: "gov-home", Holds: "which group of a namespace has a context", Fragment: "context_id 32 ‖ namespace_id 32",
		Value:    "group_id 32 ‖ number of its placement u64 LE, or 0 ‖ application and members revision u64 LE each (namespace/README.md)",
		fragment: bytesOf(32 + 32), value: govHomeValue}),
	declare(ScopeInfo{Name: "gov-rules", Holds: "by which rules the rows of a namespace were made", Fragment: "namespace_id 32",
		Value: "u32 LE: their version (namespace/README.md)", fragment: bytesOf(32), value: govRulesValue}),
	declare(ScopeInfo{Name: "gov-followed", Holds: "that this node was told to follow a namespace", Fragment: "namespace_id 32",
		Value: "empty", fragment: bytesOf(32), value: govFollowedValue}),
	declare(ScopeInfo{Name: "gov-restored", Holds: "that the store was restored, and has yet to learn what it signed since", Fragment: "namespace_id 32",
		Value: "u64 LE: Unix time in s when it was restored", fragment: bytesOf(32), value: oneU64}),
	declare(ScopeInfo{Name: "gov-peer", Holds: "when this node and another last had the same of a namespace", Fragment: "namespace_id 32 ‖ identity 32",
		Value: "u64 LE: Unix time in ms (namespace/README.md)", fragment: bytesOf(32 + 32), value: oneU64}),
}

func declare(s ScopeInfo) ScopeInfo {
	copy(s.scope[:], s.Name)
	return s
}

// Scopes yields every declared scope.
func Scopes() iter.Seq[ScopeInfo] { return slices.Values(scopes) }

// scopeOf returns the declaration of a named scope, or nil.
func scopeOf(s Scope) *ScopeInfo {
	for i := range scopes {
		if scopes[i].scope == s {
			return &scopes[i]
		}
	}
	return nil
}

func undeclared(s Scope) *Error {
	var names []string
	for i := range scopes {
		names = append(names, scopes[i].Name)
	}
	return genericError("scope", 0, fmt.Sprintf("%q is not declared (declared: %s)", s.String(), strings.Join(names, ", ")))
}

func oneID(fragment []byte) string {
	if len(fragment) != 32 {
		return fmt.Sprintf("%d bytes instead of 32", len(fragment))
	}
	return ""
}

func zeroID(fragment []byte) string {
	if fault := oneID(fragment); fault != "" {
		return fault
	}
	if !bytes.Equal(fragment, make([]byte, 32)) {
		return "not zeros"
	}
	return ""
}

func nothing(fragment []byte) string {
	if len(fragment) != 0 {
		return fmt.Sprintf("%d bytes instead of none", len(fragment))
	}
	return ""
}

func oneU64(value []byte) error {
	if len(value) != 8 {
		return &codec.Error{Type: "u64", Offset: min(len(value), 8), Reason: fmt.Sprintf("%d bytes instead of 8", len(value))}
	}
	return nil
}

// triePath accepts the place of a page: rows stand at the root, and from the
// second level on.
func triePath(fragment []byte) string {
	if len(fragment) < 32 {
		return fmt.Sprintf("%d bytes, fewer than the 32 of a context id", len(fragment))
	}
	path := fragment[32:]
	if len(path) == 1 || len(path) > 63 {
		return fmt.Sprintf("a path of %d nibbles, neither none nor 2 to 63", len(path))
	}
	for _, nibble := range path {
		if nibble > 0x0F {
			return fmt.Sprintf("%#02x in a path is no nibble", nibble)
		}
	}
	return ""
}

// checkScope says whether the key of Generic, known to be well formed, may be
// written.
func checkScope(key []byte) (*ScopeInfo, error) {
	s := Scope(key)
	if s.IsKV() {
		return nil, nil
	}
	info := scopeOf(s)
	if info == nil {
		return nil, undeclared(s)
	}
	return info, info.CheckFragment(key[len(s):])
}

func checkGeneric(key, value []byte) error {
	info, err := checkScope(key)
	if err != nil || info == nil {
		return err
	}
	return info.CheckValue(value)
}
