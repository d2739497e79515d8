package approval

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// TaskStats are the approvals of the present round of a task's review.
type TaskStats struct {
	Required      int  `json:"required_count"`
	Approved      int  `json:"approved_count"`
	Rejected      int  `json:"rejected_count"`
	Pending       int  `json:"pending_count"` // those that wait for an answer, delegated or not
	QuorumReached bool `json:"quorum_reached"`
}

// count counts the approvals of a round.
func count(t record.Doc, list []record.Doc) (c TaskStats) {
	if c.Required = int(number(t, "required_count")); c.Required == 0 {
		c.Required = len(list)
	}
	for _, d := range list {
		switch {
		case open(d):
			c.Pending++
		case text(d, "status") == Approved:
			c.Approved++
		case text(d, "status") == Rejected:
			c.Rejected++
		}
	}
	c.QuorumReached = len(list) > 0 && c.Approved >= c.Required
	return c
}

// TaskStats counts the approvals of a task, as they are now. It returns record.ErrNotFound.
func (s *Store) TaskStats(ctx context.Context, tenant, task string) (c TaskStats, err error) {
	view, err := s.records.View(tenant)
	if err != nil {
		return c, err
	}
	defer func() { _ = view.Close() }()
	t, err := view.Get(Tasks, task)
	if err != nil {
		return c, err
	}
	by := record.Filter{Index: "by_task", Equal: []json.RawMessage{document.FromText(task), roundOf(t)}}
	page, err := view.List(ctx, Approvals, record.Query{Filters: []record.Filter{by}, Limit: MaxApprovals})
	return count(t, page.Docs), err
}

// UserStats are the approvals of a user that are not archived.
type UserStats struct {
	Pending       int `json:"pending_count"`
	ApprovedToday int `json:"approved_today"` // since midnight, UTC
	RejectedToday int `json:"rejected_today"`
	// AvgResponseTime is the mean time from request to answer, in seconds.
	AvgResponseTime float64 `json:"avg_response_time"`
	// LastAction is the instant of the last answer; "": there is none.
	LastAction string `json:"last_action_at,omitempty"`
}

// UserStats counts what a user is asked, and has answered, as it is now.
func (s *Store) UserStats(ctx context.Context, tenant, user string) (c UserStats, err error) {
	view, err := s.records.View(tenant)
	if err != nil {
		return c, err
	}
	defer func() { _ = view.Close() }()
	err = each(ctx, view, Approvals, record.Equal("by_user", user), func(record.Doc) error { c.Pending++; return nil })
	if err != nil {
		return c, err
	}
	day := view.Time().Truncate(24 * time.Hour)
	var answered, ms int64
	err = each(ctx, view, Approvals, record.Equal("by_answerer", user), func(d record.Doc) error {
		created, _ := document.ParseInstant(text(d, "created_at"))
		responded, _ := document.ParseInstant(text(d, "responded_at"))
		answered, ms = answered+1, ms+responded.UnixMilli()-created.UnixMilli()
		c.LastAction = text(d, "responded_at")
		switch {
		case responded.Before(day):
		case text(d, "status") == Approved:
			c.ApprovedToday++
		default:
			c.RejectedToday++
		}
		return nil
	})
	if answered > 0 {
		c.AvgResponseTime = float64(ms) / float64(answered) / 1000
	}
	return c, err
}

// each calls fn of all records that a filter finds, in its order, until it returns an error.
func each(ctx context.Context, view *record.View, collection string, by record.Filter, fn func(record.Doc) error) error {
	for q := (record.Query{Filters: []record.Filter{by}, Limit: 1000}); ; {
		page, err := view.List(ctx, collection, q)
		if err != nil {
			return err
		}
		for _, d := range page.Docs {
			if err := fn(d); err != nil {
				return err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// Queue returns a page of what waits for answers: of a user the highest score first, then
// what is due earlier; of all, for "", what is due earlier first. Filters and Reverse of the
// query say nothing.
func (s *Store) Queue(ctx context.Context, tenant, user string, q record.Query) (record.Page, error) {
	q.Filters, q.Reverse = []record.Filter{{Index: "by_due"}}, false
	if user != "" {
		q.Filters = []record.Filter{record.Equal("by_user", user)}
	}
	return s.records.List(ctx, tenant, Approvals, q)
}

// Score is that of an approval in its user's queue.
func Score(d record.Doc) int64 { return -number(d, "queue.rank") }
