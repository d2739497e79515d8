package approval

import (
	"context"
	"encoding/json"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Thresholds are the scores from which on a risk has a level; below all of them it is LOW.
type Thresholds struct{ Medium, High, Critical int }

// low is the level that may pass without a review.
const low = "LOW"

// level is that of a score.
func (t Thresholds) level(score int) string {
	switch {
	case score >= t.Critical:
		return "CRITICAL"
	case score >= t.High:
		return "HIGH"
	case score >= t.Medium:
		return "MEDIUM"
	}
	return low
}

// Assessment says how dangerous a task is.
type Assessment struct {
	Score   int             // 0 to 100
	Factors json.RawMessage // an array; nil: none
	By      string          // what has assessed it, with its version
}

// Assess notes the risk of a task, and returns it. The level follows from the tenant's
// thresholds as they are now. It returns record.ErrNotFound; record.ErrPrecondition where
// the task is done.
func (s *Store) Assess(ctx context.Context, tenant, id string, a Assessment, o record.UpdateOptions) (assessed record.Doc, err error) {
	if a.Score < 0 || a.Score > 100 {
		return assessed, malformed(Tasks, "risk.score", "a risk is 0 to 100")
	}
	if a.Factors == nil {
		a.Factors = json.RawMessage("[]")
	}
	factors, err := document.Canonical(a.Factors)
	if err != nil {
		return assessed, malformed(Tasks, "risk.factors", "%s", err)
	}
	err = s.do(ctx, tenant, o.Durability, func(u *turn) error {
		d, err := u.Get(Tasks, id)
		if err != nil {
			return err
		}
		if final(text(d, "state")) {
			return refuse(record.CodePrecondition, Tasks, "state", "the task is %s: its risk is what it was", text(d, "state"))
		}
		level := u.set.Risk.level(a.Score)
		risk := fields{"score": a.Score, "level": level, "factors": factors, "auto_approvable": level == low && u.set.AutoApproveLowRisk,
			"assessed_at": document.FormatInstant(u.Now()), "assessed_by": nil}.with("assessed_by", a.By)
		assessed, err = u.Update(Tasks, id, fields{"risk": risk}.json(), record.UpdateOptions{Revision: o.Revision})
		return err
	})
	return assessed, err
}
