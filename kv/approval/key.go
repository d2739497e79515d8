package approval

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// The fields that literal keys show of a record.
var (
	approvalHash = []string{"task_id", "reviewer_id", "reviewer_name", "status", "priority", "delegated_to", "delegation_chain", "created_at", "due_at",
		"responded_at", "response_action", "response_reason", "reviewed_by"}
	policyHash    = []string{"owner_id", "delegate_to", "conditions", "cascade", "active", "created_at", "expires_at"}
	executionHash = []string{"started_at", "completed_at", "agent_id", "result", "output", "output_key", "error", "error_details", "retry_count"}
	riskHash      = []string{"score", "level", "factors", "auto_approvable", "assessed_at", "assessed_by"}
)

// Lookup returns what a literal key of tasks or approvals stands for: an object of a hash,
// [[member, score], …] of a sorted set, a list of a set, and what a string is. Braces in a
// key are left out. It returns record.ErrNotFound where there is nothing,
// record.ErrInvalidKey for a key of no pattern, record.ErrTooLarge for more than MaxListed
// members.
func (s *Store) Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error) {
	plain := kv.Untagged(key)
	view, err := s.records.View(tenant)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	l := lookup{ctx, s, view, tenant}
	var found any
	if rest, ok := strings.CutPrefix(plain, "ade:task:"); ok {
		found, err = l.ofTasks(rest)
	} else if rest, ok := strings.CutPrefix(plain, "ade:approval:"); ok {
		found, err = l.ofApprovals(rest)
	} else {
		err = noPattern()
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	return document.Canonical(text)
}

func noPattern() error {
	return refuse(record.CodeInvalidKey, "", "key", "no literal key of tasks or approvals looks like this; they are ade:task:ID:state, data, config, metadata, execution, preview and risk, "+
		"ade:task:index:state:STATE, author:USER, resource:TYPE:ID and tag:TAG, ade:approval:request:ID, queue:user:USER, queue:global, index:task:ID, stats:user:USER, stats:task:ID, "+
		"delegation:USER:POLICY and delegation:index:USER")
}

func nothing() error {
	return refuse(record.CodeNotFound, "", "key", "there is nothing under this key")
}

type lookup struct {
	ctx    context.Context
	s      *Store
	view   *record.View
	tenant string
}

// member is one of a sorted set.
type member [2]any

func (l *lookup) ofTasks(rest string) (any, error) {
	if rest, ok := strings.CutPrefix(rest, "index:"); ok {
		kind, value, _ := strings.Cut(rest, ":")
		by, ok := map[string]string{"state": "by_state", "author": "by_author", "resource": "by_resource", "tag": "by_tag"}[kind]
		if !ok || value == "" {
			return nil, noPattern()
		}
		return l.sorted(Tasks, record.Equal(by, value), func(d record.Doc) int64 { return seconds(d, "metadata.created_at") })
	}
	colon := strings.LastIndexByte(rest, ':')
	if colon < 0 {
		return nil, noPattern()
	}
	id, part := rest[:colon], rest[colon+1:]
	switch part {
	case "preview":
		d, err := l.view.Get(Previews, id)
		return at(d, "preview"), err
	case "state", "data", "config", "metadata", "execution", "risk":
	default:
		return nil, noPattern()
	}
	d, err := l.view.Get(Tasks, id)
	if err != nil {
		return nil, err
	}
	switch part {
	case "data":
		return d.JSON, nil
	case "execution":
		return hash(record.Doc{JSON: at(d, part)}, executionHash)
	case "risk":
		return hash(record.Doc{JSON: at(d, part)}, riskHash)
	}
	if found := at(d, part); found != nil {
		return found, nil
	}
	return nil, nothing()
}

func (l *lookup) ofApprovals(rest string) (any, error) {
	kind, id, _ := strings.Cut(rest, ":")
	sub, of, _ := strings.Cut(id, ":")
	switch {
	case kind == "request" && id != "":
		d, err := l.view.Get(Approvals, id)
		if err != nil {
			return nil, err
		}
		return hash(d, approvalHash)
	case rest == "queue:global":
		return l.sorted(Approvals, record.Filter{Index: "by_due"}, func(d record.Doc) int64 { return number(d, "queue.due") })
	case kind == "queue" && sub == "user" && of != "":
		return l.sorted(Approvals, record.Equal("by_user", of), Score)
	case kind == "index" && sub == "task" && of != "":
		return l.set(Approvals, record.Equal("by_task", of))
	case kind == "stats" && sub == "user" && of != "":
		return l.s.UserStats(l.ctx, l.tenant, of)
	case kind == "stats" && sub == "task" && of != "":
		return l.s.TaskStats(l.ctx, l.tenant, of)
	case kind == "delegation" && sub == "index" && of != "":
		return l.set(Delegations, record.Equal("by_owner", of))
	case kind == "delegation":
		return l.policy(id)
	}
	return nil, noPattern()
}

// policy is a delegation policy, whose id follows the last colon.
func (l *lookup) policy(rest string) (any, error) {
	colon := strings.LastIndexByte(rest, ':')
	if colon < 1 {
		return nil, noPattern()
	}
	d, err := l.view.Get(Delegations, rest[colon+1:])
	if err != nil {
		return nil, err
	}
	if text(d, "owner_id") != rest[:colon] {
		return nil, nothing()
	}
	return hash(d, policyHash)
}

// hash is an object of those fields that a record has.
func hash(d record.Doc, names []string) (any, error) {
	if d.JSON == nil {
		return nil, nothing()
	}
	out := map[string]json.RawMessage{}
	for _, name := range names {
		if value := document.Field(d.JSON, document.Path{name}); value != nil {
			out[name] = value
		}
	}
	return out, nil
}

// sorted are the records that a filter finds, in its order, with their scores.
func (l *lookup) sorted(collection string, by record.Filter, score func(record.Doc) int64) (any, error) {
	list := []member{}
	err := l.each(collection, by, func(d record.Doc) { list = append(list, member{d.ID, score(d)}) })
	return list, err
}

// set are the ids of the records that a filter finds.
func (l *lookup) set(collection string, by record.Filter) (any, error) {
	list := []string{}
	err := l.each(collection, by, func(d record.Doc) { list = append(list, d.ID) })
	return list, err
}

func (l *lookup) each(collection string, by record.Filter, fn func(record.Doc)) error {
	n := 0
	return each(l.ctx, l.view, collection, by, func(d record.Doc) error {
		if n++; n > MaxListed {
			return tooMany(collection, "key", MaxListed, n, "the key stands for too many records: list them by pages, with the index %s", by.Index)
		}
		fn(d)
		return nil
	})
}

// seconds is an instant since 1970.
func seconds(d record.Doc, field string) int64 {
	t, _ := document.ParseInstant(text(d, field))
	return t.Unix()
}
