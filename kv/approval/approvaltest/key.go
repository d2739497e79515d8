package approvaltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/approval"
)

func a1A2A44A45A57LiteralKeys(t *testing.T, h *Host) {
	_, err := h.TryTask(Object{"task_id": "task-456", "metadata": Object{"author_id": "user-001", "author_name": "A", "team": "t", "ticket_ref": "X-1", "tags": []string{"red"}},
		"config": Object{"type": "infrastructure", "resources": []string{"database:prod-db-01"}}})
	require.NoError(t, err)
	h.MoveTo("task-456", approval.Submitted)
	_, err = h.TryAsk("task-456", 0, Object{"approval_id": "app-123", "reviewer_id": "user-789", "priority": "HIGH", "risk_score": 35})
	require.NoError(t, err)
	h.policy(Object{"policy_id": "policy-456", "owner_id": "user-123", "delegate_to": "user-789", "conditions": Object{"task_types": []string{"infrastructure"}, "risk_above": 50}, "cascade": true})
	now, unix, due := h.after(0), h.KV.Now().Unix(), h.after(48*60*60*1e9)
	metadata := fmt.Sprintf(`{"author_id":"user-001","author_name":"A","created_at":%q,"submitted_at":%q,"tags":["red"],"team":"t","ticket_ref":"X-1","updated_at":`, now, now)
	for key, want := range map[string]string{
		"ade:task:task-456:state":                     `"REVIEWING"`,
		"ade:task:task-456:config":                    `{"resources":["database:prod-db-01"],"type":"infrastructure"}`,
		"ade:task:task-456:execution":                 "NOT_FOUND",
		"ade:task:task-456:preview":                   "NOT_FOUND",
		"ade:task:task-456:risk":                      "NOT_FOUND",
		"ade:task:index:state:REVIEWING":              fmt.Sprintf(`[["task-456",%d]]`, unix),
		"ade:task:index:state:DRAFT":                  `[]`,
		"ade:task:index:author:user-001":              fmt.Sprintf(`[["task-456",%d]]`, unix),
		"ade:task:index:resource:database:prod-db-01": fmt.Sprintf(`[["task-456",%d]]`, unix),
		"ade:task:index:tag:red":                      fmt.Sprintf(`[["task-456",%d]]`, unix),
		"ade:approval:request:app-123":                fmt.Sprintf(`{"created_at":%q,"due_at":%q,"priority":"HIGH","reviewer_id":"user-789","status":"PENDING","task_id":"task-456"}`, now, due),
		"ade:approval:queue:user:user-789":            `[["app-123",850]]`,
		"ade:approval:queue:global":                   fmt.Sprintf(`[["app-123",%d]]`, unix+48*60*60),
		"ade:approval:index:task:task-456":            `["app-123"]`,
		"ade:approval:stats:user:user-789":            `{"approved_today":0,"avg_response_time":0,"pending_count":1,"rejected_today":0}`,
		"ade:approval:stats:task:task-456":            `{"approved_count":0,"pending_count":1,"quorum_reached":false,"rejected_count":0,"required_count":1}`,
		"ade:approval:delegation:user-123:policy-456": fmt.Sprintf(`{"active":true,"cascade":true,"conditions":{"risk_above":50,"task_types":["infrastructure"]},"created_at":%q,"delegate_to":"user-789","owner_id":"user-123"}`, now),
		"ade:approval:delegation:user-1:policy-456":   "NOT_FOUND",
		"ade:approval:delegation:index:user-123":      `["policy-456"]`,
		"ade:approval:request:nobody":                 "NOT_FOUND",
		"ade:task:nobody:state":                       "NOT_FOUND",
		"ade:approval:stats:task:nobody":              "NOT_FOUND",
		"ade:task:task-456":                           "INVALID_KEY",
		"ade:task:task-456:queue":                     "INVALID_KEY",
		"ade:task:index:state":                        "INVALID_KEY",
		"ade:task:index:team:t":                       "INVALID_KEY",
		"ade:approval:queue":                          "INVALID_KEY",
		"ade:approval:queue:user:":                    "INVALID_KEY",
		"ade:approval:delegation:x":                   "INVALID_KEY",
		"ade:lock:task:task-456":                      "INVALID_KEY",
		"approval:request:app-123":                    "INVALID_KEY",
	} {
		require.Equal(t, want, h.Key(key), key)
		if part, ok := strings.CutPrefix(key, "ade:task:task-456:"); ok { // as cluster mode has it
			require.Equal(t, want, h.Key("ade:{task:task-456}:"+part))
		}
	}
	require.True(t, strings.HasPrefix(h.Key("ade:task:task-456:metadata"), metadata), h.Key("ade:task:task-456:metadata"))
	require.Equal(t, `["app-123"]`, h.Key("ade:approval:index:task:{task-456}"))
	data := h.Key("ade:task:task-456:data")
	require.Contains(t, data, `"config":{`)
	require.Contains(t, data, `"state":"REVIEWING"`)
	// Another tenant has none of it.
	_, err = h.Lookup(ctx, "u", "ade:task:task-456:state")
	require.Equal(t, "NOT_FOUND", code(err))
	found, err := h.Lookup(ctx, "u", "ade:approval:queue:global")
	require.NoError(t, err)
	require.Equal(t, "[]", string(found))
}
