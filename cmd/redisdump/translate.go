package redisdump

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv/setting"
)

// Translation is what a dump in the key patterns of the approval system comes to.
type Translation struct {
	// Documents by the collection that they are of, in order of their ids.
	Tasks, Previews, Approvals, Delegations, Sessions []Document
	Locks                                             []Held
	Agents                                            []Agent
	Settings                                          []Setting
	Left                                              []Left
}

// Origin is the key that something is translated from, and where in the dump that is.
type Origin struct {
	Key  string // as the dump has it, but for the id of a session, which is a secret: its handle
	Line int    // of the last command that changed it
}

// Document is a document of a collection.
type Document struct {
	Origin
	ID   string
	JSON json.RawMessage
}

// Held is that an agent holds a lock.
type Held struct {
	Origin
	Name, Agent string // of the lock: task:ID or resource:TYPE:ID
	Shared      bool
	Purpose     string
	Until       time.Time
}

// Agent is one that says how many tasks it takes.
type Agent struct {
	Origin
	Name     string
	Tasks    int
	Draining bool
}

// Setting is a part of the configuration, or a flag, under its literal name.
type Setting struct {
	Origin
	Name  string
	Value json.RawMessage
}

// Left is a key that is not imported, and why.
type Left struct {
	Key  string // as that of an Origin
	Kind string // of what it is about, such as "lock"
	Why  string
}

// Why keys are left.
const (
	Derived = "it follows from the rest"
	Over    = "its time is over"
	Passing = "a counter of the last minute"
	Told    = "what has happened is not told again"
	Own     = "the daemon makes its own jobs of what is imported"
	Strange = "it is of no pattern that is known"
	Unset   = "there is no setting of this name"
)

// translator is a translation in the making.
type translator struct {
	Translation
	dump  *Dump
	now   time.Time                    // of the import
	parts map[string]map[string]string // by task: the keys of its parts
	tasks []string                     // in order of their ids
	risks map[string]int               // of approvals, by their places in queues
	asked map[string]bool              // tasks that approvals are about
}

// Translate says what the keys of a dump come to at the time of an import. Keys of the first
// version, which have no ade: in front, and numbers for the status of an approval, count like
// those of the second; braces are left out. What is over by now is left. Where a key does not
// say when something was, it was when the dump was taken: so a dump comes to the same
// documents whenever it is imported. It returns an [*Error] for a key whose content can't be
// read, or that comes to a document that the collection refuses.
func Translate(d *Dump, now time.Time) (*Translation, error) {
	t := translator{dump: d, now: now.UTC().Truncate(time.Millisecond), parts: map[string]map[string]string{}, risks: map[string]int{}, asked: map[string]bool{}}
	names := d.Names()
	for _, name := range names {
		t.look(plain(name), d.Values[name])
	}
	for _, name := range names {
		if err := t.key(name, strings.TrimPrefix(plain(name), "ade:"), d.Values[name]); err != nil {
			return nil, t.at(name).refused(err)
		}
	}
	for _, id := range t.tasks {
		if err := t.task(id); err != nil {
			return nil, err
		}
	}
	return &t.Translation, t.check()
}

// at is where a key is.
func (t *translator) at(name string) Origin { return Origin{shown(name), t.dump.Values[name].Line} }

// refused is the error about a key.
func (o Origin) refused(err error) error {
	return &Error{o.Line, fmt.Sprintf("the key %s: %s", o.Key, err)}
}

// look takes what others need of a key: which tasks are asked about, and how risky approvals are.
func (t *translator) look(key string, v *Value) {
	if strings.HasPrefix(key, "ade:approval:queue:user:") && v.Kind == Sorted {
		for id, score := range v.Scores {
			t.risks[id] = int(score)
		}
	}
	if strings.HasPrefix(key, "ade:approval:request:") && v.Kind == Hash {
		t.asked[v.Fields["task_id"]] = true
	}
}

// key translates a key, without its ade:.
func (t *translator) key(name, key string, v *Value) error {
	kind, rest, _ := strings.Cut(key, ":")
	sub, id, _ := strings.Cut(rest, ":")
	if !v.Expires.IsZero() && !v.Expires.After(t.now) {
		return t.left(name, Over)
	}
	switch kind {
	case "lock":
		return t.lock(name, sub, id, v)
	case "approval":
		switch {
		case sub == "request" && id != "":
			return t.approval(name, id, v)
		case sub == "delegation" && id != "" && !strings.HasPrefix(id, "index:"):
			return t.delegation(name, id, v)
		case sub == "queue", sub == "index", sub == "stats", sub == "delegation":
			return t.left(name, Derived)
		}
	case "task":
		if sub == "index" {
			return t.left(name, Derived)
		}
		if at := strings.LastIndexByte(rest, ':'); at > 0 {
			return t.part(name, rest[:at], rest[at+1:], v)
		}
	case "session":
		if sub == "index" {
			return t.left(name, Derived)
		}
		if rest != "" {
			return t.session(name, rest, v)
		}
	case "config", "feature":
		if rest != "" {
			return t.setting(name, "ade:"+key, v)
		}
	case "ratelimit":
		return t.left(name, Passing)
	case "events":
		return t.left(name, Told)
	case "job":
		return t.left(name, Own)
	}
	return t.left(name, Strange)
}

// kinds are what keys are about, by their first words.
var kinds = map[string]string{"lock": "lock", "approval": "approval", "task": "task", "session": "session", "config": "setting", "feature": "setting",
	"ratelimit": "limit", "events": "event", "job": "job"}

func (t *translator) left(name, why string) error {
	word, _, _ := strings.Cut(strings.TrimPrefix(strings.Trim(name, "{"), "ade:"), ":")
	kind := kinds[strings.Trim(word, "{}")]
	if kind == "" {
		kind = "other"
	}
	t.Left = append(t.Left, Left{shown(name), kind, why})
	return nil
}

// wanted returns an error unless a key holds what its pattern says.
func (v *Value) wanted(kind Kind) error {
	if v.Kind != kind {
		return fmt.Errorf("it holds %s, where the pattern has %s", v.Kind, kind)
	}
	return nil
}

func (t *translator) setting(name, key string, v *Value) error {
	if err := v.wanted(Text); err != nil {
		return err
	}
	value := json.RawMessage(v.Text)
	if !json.Valid(value) { // a word, as enabled
		value, _ = json.Marshal(v.Text)
	}
	var refused *setting.Error
	if err := setting.Check(key, value); errors.As(err, &refused) && refused.Field == "name" {
		return t.left(name, Unset)
	} else if err != nil {
		return err
	}
	t.Settings = append(t.Settings, Setting{t.at(name), key, value})
	return nil
}
