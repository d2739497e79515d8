package policy

import (
	"context"
	"embed"
	"encoding/json"
	"errors"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

//go:embed bootstrap/*.json
var bootstrapped embed.FS

// Governor is the agent that a tenant begins with.
const Governor = "cece.governor.v1"

// Bootstrap makes what a tenant begins with, in one batch: the agent cece.governor.v1, the
// policies pol-core-safety and pol-core-audit that it requires, and a delegation to it
// from blackroad.system. What is there stays as it is, so that to do it again changes
// nothing. It returns the records, in the order policies, agent, delegation.
func (s *Store) Bootstrap(ctx context.Context, tenant string, d engine.Durability) (made []record.Doc, err error) {
	var drafts []*record.Draft
	for _, one := range []struct{ collection, file string }{
		{Policies, "pol-core-safety"}, {Policies, "pol-core-audit"}, {Agents, Governor}, {Delegations, "delegation"},
	} {
		text, err := bootstrapped.ReadFile("bootstrap/" + one.file + ".json")
		if err != nil {
			return nil, err
		}
		draft, err := s.records.Draft(one.collection, text)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	err = s.records.Do(ctx, tenant, d, func(tx *record.Tx) error {
		made = nil
		delegated, err := bootstrapDelegation(tx)
		if err != nil {
			return err
		}
		for i, known := range []struct{ collection, id string }{
			{Policies, "pol-core-safety"}, {Policies, "pol-core-audit"}, {Agents, Governor}, {Delegations, delegated},
		} {
			doc, err := tx.Get(known.collection, known.id)
			if errors.Is(err, record.ErrNotFound) {
				doc, err = tx.Insert(drafts[i])
			}
			if err != nil {
				return err
			}
			made = append(made, doc)
		}
		return nil
	})
	return made, err
}

// bootstrapDelegation is the id of the first delegation from the system to the governor,
// revoked or not; "": there is none.
func bootstrapDelegation(tx *record.Tx) (string, error) {
	docs, _, err := tx.Find(Delegations, record.Equal("by_delegator", system), maxHeld)
	if err != nil {
		return "", err
	}
	for _, d := range docs {
		if name(text(d, "delegate")) == Governor {
			return d.ID, nil
		}
	}
	return "", nil
}

// Settings returns what the tenant has said, or the zero Settings.
func (s *Store) Settings(ctx context.Context, tenant string) (Settings, error) {
	d, err := s.records.Get(ctx, tenant, TenantRules, SettingsID)
	if errors.Is(err, record.ErrNotFound) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, err
	}
	settings, err := ParseSettings(d.JSON)
	if err != nil {
		return Settings{}, err
	}
	return *settings, nil
}

// SetSettings sets what the tenant says.
func (s *Store) SetSettings(ctx context.Context, tenant string, settings Settings, o record.WriteOptions) error {
	fields, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	if fields, err = document.Canonical(fields); err != nil {
		return err
	}
	return s.records.Do(ctx, tenant, o.Durability, func(tx *record.Tx) error {
		_, err := tx.Update(TenantRules, SettingsID, fields, record.UpdateOptions{})
		if errors.Is(err, record.ErrNotFound) {
			_, err = tx.Create(TenantRules, document.With(fields, document.Path{"settings_id"}, document.FromText(SettingsID)))
		}
		return err
	})
}
