package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/namespace"
)

// ExportOptions say what Export writes. The zero ExportOptions are all rows,
// compressed, without secrets.
type ExportOptions struct {
	Columns   []column.Column  // only these; nil: all
	Context   *codec.ContextID // only the rows of a context
	Namespace *codec.GroupID   // only the rows of a namespace and the groups below it
	Tenant    *string          // only the rows of a tenant of key-values, and what those of all tenants go by
	Plain     bool             // lines are not compressed
	Reveal    bool             // secrets are shown
	Progress  func(rows uint64)
}

// Exported counts what Export has written.
type Exported struct {
	Rows     uint64 `json:"rows"`
	Redacted uint64 `json:"redacted"` // rows whose secrets are not shown
	Sealed   uint64 `json:"sealed"`   // rows whose secrets could not be opened
	// Governed are rows that are left out because they say what the keys of a group
	// open: without secrets, ops of namespaces are in a dump as they travel, and no more.
	Governed uint64 `json:"governed,omitempty"`
	// Withheld are records of collections without their fields that are writeOnly.
	Withheld uint64 `json:"withheld,omitempty"`
	// Findings are what could not be read, and is not in the dump.
	Findings []Finding `json:"findings,omitempty"`
}

// Export writes rows of s to w as lines of JSON; README.md has the format. Its
// memory does not grow with their number. It goes on behind what cannot be read, and
// the end of the dump says that there was such.
func Export(ctx context.Context, s *Source, w io.Writer, o ExportOptions) (*Exported, error) {
	out := &Exported{}
	if s.Facts.Unfinished != "" {
		out.Findings = append(out.Findings, Finding{Code: "unfinished", Reason: s.Facts.unfinished()})
	}
	wanted, err := o.filter(s, out)
	if err != nil {
		return nil, err
	}
	d, err := newDumpWriter(w, !o.Plain)
	if err != nil {
		return nil, err
	}
	opened := o.Reveal && (!s.Facts.Sealed || s.Facts.Opened)
	gov, err := withheldOf(s, opened)
	if err != nil {
		return nil, err
	}
	walk := &walker{ctx: ctx, progress: o.Progress}
	fields := &secretFields{walk: walk, source: s, spaces: s.spaces(), reveal: opened}
	printer := s.Printer(o.Reveal)
	err = d.line(dumpLine{Header: &DumpHeader{DumpVersion, s.Facts.Schema, s.Facts.NodeID, opened, o.what()}})
	for c := range column.All {
		if err != nil {
			break
		}
		if o.Columns != nil && !slices.Contains(o.Columns, c) {
			continue
		}
		err = walk.walkAround(s, c, func(key, value []byte) error {
			if !wanted(c, key, value) {
				return nil
			}
			value, there, err := gov.locked(c, key, value)
			if err != nil {
				return err
			}
			if !there {
				out.Governed++
				return nil
			}
			value, without, err := fields.left(c, key, value)
			if err != nil {
				return err
			}
			out.Rows++
			if info, err := keys.Identify(c, key); err == nil {
				if done, err := d.raw(&info, key, value); done || err != nil {
					return err
				}
			}
			l := dumpLine{Record: printer.Record(c, key, value), Withheld: without}
			hidden, err := printer.Hides(c, key, value)
			switch {
			case err != nil:
				return err
			case l.Sealed != "":
				out.Sealed++
			case hidden:
				l.Redacted = true
				out.Redacted++
			}
			if len(without) > 0 {
				out.Withheld++
			}
			return d.line(l)
		}, func(after, before []byte, err error) {
			out.Findings = append(out.Findings, NewFinding("unreadable", c, after, gap(after, before, err)))
		})
		if f, ok := tolerated(c, err); ok {
			out.Findings, err = append(out.Findings, f), nil
		}
	}
	if err == nil {
		err = d.line(dumpLine{End: &dumpEnd{out.Rows, len(out.Findings)}})
	}
	if cerr := d.close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = walk.report()
	}
	return out, err
}

// what says in words what is exported.
func (o *ExportOptions) what() string {
	var parts []string
	for _, c := range o.Columns {
		parts = append(parts, c.String())
	}
	if o.Context != nil {
		parts = append(parts, "context "+o.Context.String())
	}
	if o.Namespace != nil {
		parts = append(parts, "namespace "+o.Namespace.String())
	}
	if o.Tenant != nil {
		parts = append(parts, fmt.Sprintf("tenant %q", *o.Tenant))
	}
	if parts == nil {
		return "everything"
	}
	return strings.Join(parts, ", ")
}

// filter returns which rows are wanted. What of the groups cannot be read is in out.
func (o *ExportOptions) filter(s *Source, out *Exported) (func(column.Column, []byte, []byte) bool, error) {
	switch {
	case o.Context != nil && o.Namespace != nil || o.Tenant != nil && (o.Context != nil || o.Namespace != nil):
		return nil, fmt.Errorf("inspect: an export of a context, of a namespace or of a tenant, and not of two of them")
	case o.Tenant != nil:
		rows, err := kv.RowsOf(s, *o.Tenant)
		return func(c column.Column, key, _ []byte) bool { return ofTenant(rows, c, key) }, err
	case o.Context != nil:
		id := string(o.Context[:])
		return func(c column.Column, key, _ []byte) bool { return concerns(c, key, id) }, nil
	case o.Namespace != nil:
		groups, err := o.groups(s, out)
		if err != nil {
			return nil, err
		}
		return func(c column.Column, key, value []byte) bool { return o.inNamespace(s, groups, c, key, value) }, nil
	}
	return func(column.Column, []byte, []byte) bool { return true }, nil
}

// ofTenant reports whether a row is one of a tenant.
func ofTenant(rows kv.TenantRows, c column.Column, key []byte) bool {
	if c != column.Generic || !keys.Scope(key).IsKV() {
		return false
	}
	row, err := kv.ParseRow(key)
	return err == nil && rows.Has(row)
}

// inNamespace reports whether a row is one of a namespace: of its groups, of their
// contexts' groups and counters, or kept for its ops.
func (o *ExportOptions) inNamespace(s *Source, groups map[codec.GroupID]bool, c column.Column, key, value []byte) bool {
	switch {
	case c == column.Generic:
		ns, ok := namespace.OfNamespace(key)
		return ok && ns == *o.Namespace
	case c == column.Config && len(key) == contextBytes:
		ref, err := engine.Get(s, keys.ContextGroupRef{Context: codec.ContextID(key)})
		return err == nil && groups[ref.GroupID]
	case c != column.Group || len(key) <= contextBytes:
		return false
	}
	if info, err := keys.Identify(c, key); err == nil && info.Name == "ContextGroupRef" {
		return len(value) == contextBytes && groups[codec.GroupID(value)]
	}
	return groups[codec.GroupID(key[1:])]
}

// groups returns the groups of a namespace, or below a group, that can be found. What
// cannot be read is in out.
func (o *ExportOptions) groups(s *Source, out *Exported) (map[codec.GroupID]bool, error) {
	told := func(f Finding) error {
		f.Reason += "; groups below " + o.Namespace.String() + " may be missing"
		out.Findings = append(out.Findings, f)
		return nil
	}
	groups, err := namespace.GroupsOf(s.Lenient(told), *o.Namespace)
	if f, ok := tolerated(column.Group, err); ok {
		return groups, told(f)
	}
	return groups, err
}

// concerns reports whether a row is one of a context: in the columns of contexts,
// in the scopes of Generic that begin with one or with a letter and one, and the
// group that it is in.
func concerns(c column.Column, key []byte, id string) bool {
	at := 0
	switch {
	case ofContexts(c):
	case c == column.Generic && len(key) > len(keys.Scope{}):
		s := keys.Scope(key)
		if s.IsKV() || !strings.HasPrefix(s.String(), "dag-") {
			return false
		}
		at = len(s) + ofDeltas[s.String()]
	case c == column.Group:
		info, err := keys.Identify(c, key)
		if err != nil || info.Name != "ContextGroupRef" {
			return false
		}
		at = 1
	default:
		return false
	}
	return len(key) >= at+len(id) && string(key[at:at+len(id)]) == id
}
