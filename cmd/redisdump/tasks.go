package redisdump

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The shapes of the fields of a task's parts.
var (
	configShapes    = map[string]shape{"parameters": anyJSON, "resources": anyJSON, "timeout_seconds": integer, "priority": integer}
	metadataShapes  = map[string]shape{"tags": listed}
	executionShapes = map[string]shape{"error_details": anyJSON, "retry_count": integer}
	riskShapes      = map[string]shape{"score": integer, "factors": anyJSON, "auto_approvable": boolean}
)

// part takes note of a part of a task, which has several keys.
func (t *translator) part(name, id, part string, v *Value) error {
	switch part {
	case "state", "data", "preview":
		if err := v.wanted(Text); err != nil {
			return err
		}
	case "config", "metadata", "execution", "risk":
		if err := v.wanted(Hash); err != nil {
			return err
		}
	default:
		return t.left(name, Strange)
	}
	if t.parts[id] == nil {
		t.parts[id] = map[string]string{}
		t.tasks = append(t.tasks, id)
	}
	t.parts[id][part] = name
	return nil
}

// task puts a task together of its parts: what its data says, over which its other keys go.
func (t *translator) task(id string) error {
	doc := object{}
	names := t.parts[id]
	in := func(part string, err error) error {
		if err == nil {
			return nil
		}
		return t.at(names[part]).refused(err)
	}
	if name, ok := names["data"]; ok {
		if err := json.Unmarshal([]byte(t.dump.Values[name].Text), &doc); err != nil || doc == nil {
			return in("data", errors.New("it is no JSON object"))
		}
	}
	for part, shapes := range map[string]map[string]shape{"config": configShapes, "metadata": metadataShapes, "execution": executionShapes, "risk": riskShapes} {
		name, ok := names[part]
		if !ok {
			continue
		}
		over, err := typed(t.dump.Values[name].Fields, shapes)
		if err != nil {
			return in(part, err)
		}
		below, _ := doc[part].(object)
		if below == nil {
			below = object{}
		}
		for field, value := range over {
			below[field] = value
		}
		doc[part] = below
	}
	doc["task_id"] = id
	if name, ok := names["state"]; ok {
		doc["state"] = t.dump.Values[name].Text
	}
	fallback(doc, "state", "DRAFT")
	first := slices.Sorted(maps.Keys(names))[0]
	if err := t.complete(doc, id); err != nil {
		return in(first, err)
	}
	t.Tasks = append(t.Tasks, Document{t.at(names[first]), id, encode(doc)})
	if name, ok := names["preview"]; ok {
		v := t.dump.Values[name]
		if !json.Valid([]byte(v.Text)) {
			return in("preview", errors.New("it is no JSON"))
		}
		made := t.dump.Taken
		if !v.Expires.IsZero() {
			made = v.Expires.Add(-previewLasts)
		}
		t.Previews = append(t.Previews, Document{t.at(name), id, encode(object{"task_id": id, "preview": json.RawMessage(v.Text), "created_at": stamp(made)})})
	}
	return nil
}

// complete gives a task what a document of one has and keys of Redis have not.
func (t *translator) complete(doc object, id string) error {
	metadata, _ := doc["metadata"].(object)
	if metadata == nil || text(metadata, "author_id") == "" {
		return fmt.Errorf("the task has no author_id in its metadata, in ade:task:%s:metadata or ade:task:%s:data", id, id)
	}
	for name, value := range metadata { // as a hash says that there is none
		if value == "" {
			delete(metadata, name)
		}
	}
	fallback(metadata, "created_at", stamp(t.dump.Taken))
	fallback(metadata, "updated_at", metadata["created_at"])
	if config, ok := doc["config"].(object); ok {
		if err := resources(config); err != nil {
			return err
		}
	}
	if risk, ok := doc["risk"].(object); ok {
		fallback(risk, "auto_approvable", false)
		fallback(risk, "assessed_at", metadata["created_at"])
		if score, ok := risk["score"].(int64); ok {
			fallback(risk, "level", levelOf(int(score)))
		}
	}
	if execution, ok := doc["execution"].(object); ok {
		for name, value := range execution {
			if value == "" {
				delete(execution, name)
			}
		}
	}
	if t.asked[id] {
		fallback(doc, "round", 1)
		for _, name := range []string{"ade:approval:stats:task:" + id, "approval:stats:task:" + id} {
			if v := t.dump.Values[name]; v != nil && v.Kind == Hash {
				if n, err := strconv.Atoi(v.Fields["required_count"]); err == nil && n > 0 {
					fallback(doc, "required_count", n)
				}
			}
		}
	}
	return nil
}

// resources writes the resources of a task as TYPE:ID, where they are objects.
func resources(config object) error {
	raw, err := json.Marshal(config["resources"])
	if err != nil || string(raw) == "null" {
		delete(config, "resources")
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("the resources of a task are a list")
	}
	names := make([]string, len(list))
	for i, one := range list {
		if json.Unmarshal(one, &names[i]) == nil {
			continue
		}
		var reference struct {
			Type         string `json:"type"`
			ID           string `json:"id"`
			ResourceType string `json:"resource_type"`
			ResourceID   string `json:"resource_id"`
		}
		if err := json.Unmarshal(one, &reference); err != nil || reference.Type+reference.ResourceType == "" || reference.ID+reference.ResourceID == "" {
			return errors.New(`a resource of a task is TYPE:ID, or an object with type and id`)
		}
		names[i] = reference.Type + reference.ResourceType + ":" + reference.ID + reference.ResourceID
	}
	config["resources"] = names
	return nil
}
