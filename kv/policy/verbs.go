package policy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Heartbeat notes that an agent was heard of now: last_seen moves forward, and nothing
// else changes. It returns the agent, or record.ErrNotFound.
func (s *Store) Heartbeat(ctx context.Context, tenant, agent string, d engine.Durability) (seen record.Doc, err error) {
	err = s.records.Do(ctx, tenant, d, func(tx *record.Tx) error {
		old, err := tx.Get(Agents, agent)
		if err != nil {
			return err
		}
		before, err := document.ParseInstant(text(old, "last_seen"))
		if err == nil && !tx.Now().After(before) {
			seen = old
			return nil
		}
		seen, err = note(tx, Agents, agent, map[string]any{"last_seen": document.FormatInstant(tx.Now())})
		return err
	})
	return seen, err
}

// Revoke takes a claim or a delegation back, which is for good: it is no longer in force,
// and says since when and why. Of one that is revoked already nothing changes. It
// returns the record as it is then; record.ErrNotFound; record.ErrInvalidArgument for
// another collection.
func (s *Store) Revoke(ctx context.Context, tenant, collection, id, reason string, o record.UpdateOptions) (revoked record.Doc, err error) {
	fields := map[string]any{}
	switch collection {
	case Claims:
		fields["revoked"] = true
	case Delegations:
		fields["active"] = false
	default:
		return revoked, &record.Error{Code: record.CodeInvalidArgument, Field: "collection", Reason: "claims and delegations are revoked"}
	}
	const longest = 4096
	if len(reason) > longest {
		return revoked, &record.Error{Code: record.CodeValidation, Collection: collection, Field: "revoked_reason", Limit: longest, Have: uint64(len(reason)), Reason: "the reason is too long"}
	}
	optional(fields, "revoked_reason", reason)
	err = s.records.Do(ctx, tenant, o.Durability, func(tx *record.Tx) error {
		old, err := tx.Get(collection, id)
		if err != nil {
			return err
		}
		if o.Revision != 0 && old.Revision != o.Revision {
			conflict := record.Conflict(o.Revision, old.Revision)
			conflict.Collection = collection
			return conflict
		}
		if text(old, "revoked_at") != "" {
			revoked = old
			return nil
		}
		now := document.FormatInstant(tx.Now())
		fields["revoked_at"] = now
		if collection == Delegations {
			fields["updated_at"] = now
		}
		revoked, err = note(tx, collection, id, fields)
		return err
	})
	return revoked, err
}

// Step changes one step of the plan of an intent by a merge patch, whatever others do to
// the other steps meanwhile. It returns the intent; record.ErrNotFound if there is no
// such intent, or no such step.
func (s *Store) Step(ctx context.Context, tenant, intent string, step int, patch []byte, d engine.Durability) (changed record.Doc, err error) {
	canonical, err := document.Canonical(patch)
	if err != nil || document.Kind(canonical) != '{' {
		return changed, &record.Error{Code: record.CodeValidation, Collection: Intents, Field: "patch", Reason: "a patch of a step is an object"}
	}
	for {
		old, err := s.records.Get(ctx, tenant, Intents, intent)
		if err != nil {
			return changed, err
		}
		plan, found := planWith(old, step, canonical)
		if !found {
			return changed, &record.Error{Code: record.CodeNotFound, Collection: Intents, Field: "step", Reason: "the plan has no step of this number"}
		}
		changed, err = s.records.Update(ctx, tenant, Intents, intent, plan, record.UpdateOptions{Durability: d, Revision: old.Revision})
		if !errors.Is(err, record.ErrConflict) {
			return changed, err
		}
		if err := ctx.Err(); err != nil {
			return changed, err
		}
	}
}

// planWith is a patch of an intent in which one step is patched.
func planWith(intent record.Doc, step int, patch json.RawMessage) (plan json.RawMessage, found bool) {
	steps := slices.Collect(document.Elements(document.Field(intent.JSON, document.Path{"plan"})))
	list := []byte{'['}
	for i, one := range steps {
		if string(document.Field(one, document.Path{"step"})) == strconv.Itoa(step) {
			one, found = document.Merge(one, patch), true
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, one...)
	}
	return document.With(json.RawMessage("{}"), document.Path{"plan"}, append(list, ']')), found
}
