package policy

import (
	"errors"
	"fmt"
	"strings"
)

// MaxPattern is how many bytes a pattern or the name of an action may have.
const MaxPattern = 256

// Pattern says which actions something is about: an action by its name, such as
// notion.create_page; all below a name, as notion.*, which is one or more further segments
// (notion.a and notion.a.b, not notion); or everything, as *. Case counts. The zero Pattern matches
// nothing.
type Pattern struct {
	text string
}

// ParsePattern reads a pattern. A * elsewhere than alone or as the last segment, an empty
// segment, other characters than letters, digits, _ and -, and more than MaxPattern bytes are refused.
func ParsePattern(text string) (Pattern, error) {
	name := strings.TrimSuffix(text, ".*")
	if text != "*" {
		if err := checkName(name); err != nil {
			return Pattern{}, err
		}
	}
	if len(text) > MaxPattern {
		return Pattern{}, fmt.Errorf("%d bytes, at most %d are allowed", len(text), MaxPattern)
	}
	return Pattern{text}, nil
}

// checkName refuses what is no name of an action: segments of letters, digits, _ and -,
// with dots between them.
func checkName(name string) error {
	if len(name) > MaxPattern {
		return fmt.Errorf("%d bytes, at most %d are allowed", len(name), MaxPattern)
	}
	before := byte('.')
	for i := range len(name) {
		switch b := name[i]; {
		case b == '.' && before == '.':
			return errEmptySegment
		case b == '*':
			return errors.New("a * stands alone or as the last segment, as in a.*")
		case b != '.' && b != '_' && b != '-' && (b|0x20 < 'a' || b|0x20 > 'z') && (b < '0' || b > '9'):
			return errors.New("a segment has other characters than letters, digits, _ and -")
		}
		before = name[i]
	}
	if before == '.' {
		return errEmptySegment
	}
	return nil
}

var errEmptySegment = errors.New("a segment is empty")

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// below returns the name that the pattern's actions are below.
func (p Pattern) below() (name string, is bool) { return strings.CutSuffix(p.text, ".*") }

// Matches tells whether the action is one of the pattern's.
func (p Pattern) Matches(action string) bool {
	if p.text == "*" {
		return action != ""
	}
	if name, is := p.below(); is {
		return len(action) > len(name)+1 && action[len(name)] == '.' && action[:len(name)] == name
	}
	return p.text != "" && p.text == action
}

// Covers tells whether every action of other is one of the pattern's too.
func (p Pattern) Covers(other Pattern) bool {
	switch name, below := other.below(); {
	case p.text == "*" || p == other:
		return other.text != ""
	case other.text == "*":
		return false
	case below:
		return strings.HasSuffix(p.text, ".*") && p.Matches(name)
	}
	return p.Matches(other.text)
}

// Overlaps tells whether an action may be one of both patterns.
func (p Pattern) Overlaps(other Pattern) bool { return p.Covers(other) || other.Covers(p) }

// PatternsOf returns the patterns that match an action, the action itself first and * last: email.send,
// email.*, *. Nothing else does.
func PatternsOf(action string) []Pattern {
	patterns := []Pattern{{action}}
	for at := strings.LastIndexByte(action, '.'); at >= 0; at = strings.LastIndexByte(action[:at], '.') {
		patterns = append(patterns, Pattern{action[:at] + ".*"})
	}
	return append(patterns, Pattern{"*"})
}

// matching tells whether one of several matches, and which.
func matching(patterns []Pattern, action string) (Pattern, bool) {
	for _, p := range patterns {
		if p.Matches(action) {
			return p, true
		}
	}
	return Pattern{}, false
}
