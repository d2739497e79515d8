package redisdump

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// lockLasts is how long a lock is held that does not say, from when the dump was taken: as
// long as the source's holders have to renew one. So it is over for whoever imports later, or
// once more.
const lockLasts = 30 * time.Second

// lock translates the keys of locks.
func (t *translator) lock(name, sub, id string, v *Value) error {
	switch {
	case (sub == "task" || sub == "resource") && (strings.HasSuffix(id, ":queue") || strings.HasSuffix(id, ":channel")):
		return t.left(name, "who waits asks again")
	case sub == "task" && id != "", sub == "resource" && strings.Contains(id, ":"):
		return t.held(name, sub+":"+id, v)
	case sub == "agent" && strings.HasSuffix(id, ":capacity"):
		return t.agent(name, strings.TrimSuffix(id, ":capacity"), v)
	case sub == "index", sub == "registry", sub == "waitfor", sub == "deadlock":
		return t.left(name, Derived)
	}
	return t.left(name, Strange)
}

// held translates a lock: a hash, or, in the first version, the name of its holder.
func (t *translator) held(name, lock string, v *Value) error {
	fields := v.Fields
	if v.Kind == Text {
		fields = map[string]string{"holder_agent_id": v.Text}
	} else if err := v.wanted(Hash); err != nil {
		return err
	}
	until := v.Expires
	if says := fields["expires_at"]; until.IsZero() && says != "" {
		var err error
		if until, err = time.Parse(time.RFC3339, says); err != nil {
			return fmt.Errorf("the field expires_at: %q is no time such as 2026-03-18T15:30:30Z", shortened(says))
		}
	} else if until.IsZero() {
		until = t.dump.Taken.Add(lockLasts)
	}
	if !until.After(t.now) {
		return t.left(name, Over)
	}
	one := Held{Origin: t.at(name), Name: lock, Purpose: fields["purpose"], Until: until.UTC()}
	if fields["mode"] != "shared" {
		if one.Agent = fields["holder_agent_id"]; one.Agent == "" {
			one.Agent = fields["exclusive_holder"]
		}
		if one.Agent == "" {
			return errors.New("it says nobody who holds it, by holder_agent_id or exclusive_holder")
		}
		t.Locks = append(t.Locks, one)
		return nil
	}
	var holders []struct {
		Agent string `json:"agent_id"`
	}
	if err := json.Unmarshal([]byte(fields["holders"]), &holders); err != nil || len(holders) == 0 {
		return errors.New(`the field holders of a shared lock is a list such as [{"agent_id":"agent-1"}]`)
	}
	one.Shared = true
	for _, h := range holders {
		one.Agent = h.Agent
		t.Locks = append(t.Locks, one)
	}
	return nil
}

// agent translates the capacity of an agent. One that is offline registers again by itself.
func (t *translator) agent(name, id string, v *Value) error {
	if err := v.wanted(Hash); err != nil {
		return err
	}
	if v.Fields["status"] == "offline" {
		return t.left(name, "the agent is offline")
	}
	tasks, err := strconv.Atoi(v.Fields["max_tasks"])
	if err != nil {
		return fmt.Errorf("the field max_tasks: %q is no integer", shortened(v.Fields["max_tasks"]))
	}
	t.Agents = append(t.Agents, Agent{t.at(name), id, tasks, v.Fields["status"] == "draining"})
	return nil
}
