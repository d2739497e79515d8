package policy

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// columns are those of the table that a collection is exported to for SQL, in order.
var columns = map[string][]string{
	Policies:    {"policy_id", "scope", "name", "rules", "active", "created_at", "updated_at"},
	Ledger:      {"event_id", "intent_id", "timestamp", "agent_id", "tool", "action", "inputs_hash", "outputs_hash", "policy_decision", "metadata"},
	Agents:      {"agent_id", "name", "description", "class", "capabilities", "policies_required", "owner", "status", "config", "created_at", "updated_at", "last_seen"},
	Intents:     {"intent_id", "actor", "goal", "context", "priority", "status", "plan", "assigned_agent", "parent_intent_id", "created_at", "updated_at", "completed_at", "blocked_reason"},
	Claims:      {"claim_id", "subject", "claim_type", "object", "assertion", "issued_by", "issued_at", "expires_at", "revoked", "revoked_at", "revoked_reason", "evidence"},
	Delegations: {"delegation_id", "delegator", "delegate", "scope", "constraints", "active", "created_at", "updated_at", "revoked_at", "revoked_reason", "uses_count"},
}

// Columns returns the names of the columns that the rows of a collection have for SQL,
// or record.ErrUnknownCollection.
func Columns(collection string) ([]string, error) {
	if names := columns[collection]; names != nil {
		return slices.Clone(names), nil
	}
	return nil, &record.Error{Code: record.CodeUnknownCollection, Field: "collection", Reason: "those that are exported are policy, ledger, agent, intent, claim and delegation"}
}

// Rows yields the records of a collection, in force or not and in order of their
// creation, as rows for SQL: of each its values in the order of [Columns]. Objects and
// arrays are texts of canonical JSON; what a record lacks is null.
func (s *Store) Rows(ctx context.Context, tenant, collection string) iter.Seq2[[]json.RawMessage, error] {
	return func(yield func([]json.RawMessage, error) bool) {
		names, err := Columns(collection)
		if err != nil {
			yield(nil, err)
			return
		}
		for d, err := range s.exported(ctx, tenant, collection) {
			if err != nil {
				yield(nil, err)
				return
			}
			row := make([]json.RawMessage, len(names))
			for i, name := range names {
				row[i] = cell(document.Field(d.JSON, document.Path{name}))
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// cell is a value as a column has it.
func cell(value json.RawMessage) json.RawMessage {
	switch document.Kind(value) {
	case 0:
		return json.RawMessage("null")
	case '{', '[':
		return document.FromText(string(value))
	}
	return value
}

// exported yields all records of a collection in one state.
func (s *Store) exported(ctx context.Context, tenant, collection string) iter.Seq2[record.Doc, error] {
	return func(yield func(record.Doc, error) bool) {
		view, err := s.records.View(tenant)
		if err != nil {
			yield(record.Doc{}, err)
			return
		}
		defer func() { _ = view.Close() }()
		for d, err := range each(ctx, view, collection, record.Query{All: true}) {
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// Commands yields the records of a collection as commands for Redis, each with its
// arguments: SET of the record under its literal key, SADD to the sets of its indexes;
// of the ledger ZADD to ledger:by_date with the seconds since 1970, and last SET of the
// counters of its days.
func (s *Store) Commands(ctx context.Context, tenant, collection string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		c, err := s.records.Collection(collection)
		if err == nil && columns[collection] == nil {
			_, err = Columns(collection)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		var days []string
		counts := map[string]uint64{}
		now := s.kv.Now()
		for d, err := range s.exported(ctx, tenant, collection) {
			if err != nil {
				yield(nil, err)
				return
			}
			records, sets := c.KeysOf(d.JSON, now)
			if !yield([]string{"SET", records[len(records)-1], string(d.JSON)}, nil) {
				return
			}
			for _, key := range sets {
				command := []string{"SADD", key, d.ID}
				if day, is := strings.CutPrefix(key, "ledger:by_date:"); is {
					at, err := document.ParseInstant(text(d, "timestamp"))
					if err != nil {
						yield(nil, err)
						return
					}
					command = []string{"ZADD", key, strconv.FormatInt(at.Unix(), 10), d.ID}
					if counts[day] == 0 {
						days = append(days, day)
					}
					counts[day]++
				}
				if !yield(command, nil) {
					return
				}
			}
		}
		for _, day := range days {
			if !yield([]string{"SET", "ledger:counter:" + day, strconv.FormatUint(counts[day], 10)}, nil) {
				return
			}
		}
	}
}
