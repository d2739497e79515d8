package tasks

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// boardDoc is a column of the board, as JSON.
type boardDoc struct {
	State   string                   `json:"state"`
	Tasks   []string                 `json:"tasks"`
	Answers map[string]rpc.TaskStats `json:"answers,omitempty"` // by task, while people are asked
	More    bool                     `json:"more,omitempty"`
}

func newBoard(p *cli.Process) *cobra.Command {
	const most = 20
	return ofTenant(p, "task", command{
		Name: "board", Offline: true, Short: "Show the tasks of each state, the newest first",
		Example: "--tenant acme",
		Run: func(c *call) error {
			var board []boardDoc
			for _, state := range approval.States {
				page, err := c.records.List(c.Ctx, approval.Tasks, rpc.RecordQuery{Filters: []rpc.RecordFilter{equal("by_state", state)}, Reverse: true, Limit: most})
				if err != nil {
					return err
				}
				column := boardDoc{State: state, Tasks: []string{}, More: page.Next != ""}
				for _, d := range page.Docs {
					column.Tasks = append(column.Tasks, d.ID)
					if state == approval.Reviewing {
						if err := column.ask(c, d.ID); err != nil {
							return err
						}
					}
				}
				board = append(board, column)
			}
			return c.Emit(board, func(w io.Writer) { writeBoard(w, board) })
		},
	})
}

// ask asks how far the review of a task is, unless it is gone meanwhile.
func (b *boardDoc) ask(c *call, id string) error {
	stats, err := c.tasks.Stats(c.Ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	if b.Answers == nil {
		b.Answers = map[string]rpc.TaskStats{}
	}
	b.Answers[id] = stats
	return err
}

// cell is a task for people, with how many of those that it needs have approved it.
func (b *boardDoc) cell(id string) string {
	if stats, ok := b.Answers[id]; ok && stats.Required > 0 {
		return fmt.Sprintf("%s (%d of %d approve)", id, stats.Approved, stats.Required)
	}
	return id
}

// writeBoard writes the states that have tasks beside each other.
func writeBoard(w io.Writer, board []boardDoc) {
	t, heads, rows := cli.Table{}, []string{}, 0
	var shown []boardDoc
	for _, column := range board {
		if len(column.Tasks) > 0 {
			shown, heads, rows = append(shown, column), append(heads, column.State), max(rows, len(column.Tasks))
		}
	}
	t.Add(heads...)
	for n := range rows {
		var cells []string
		for _, column := range shown {
			switch {
			case n < len(column.Tasks):
				cells = append(cells, column.cell(column.Tasks[n]))
			case n == len(column.Tasks) && column.More:
				cells = append(cells, "…")
			default:
				cells = append(cells, "")
			}
		}
		t.Add(cells...)
	}
	t.Write(w, "")
}
