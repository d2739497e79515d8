package redisdump

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runner runs commands.
type runner struct {
	dump *Dump
	now  time.Time
	line int
}

// spoken is a command that is known: how many words follow its name at least, and what it
// does with them.
type spoken struct {
	least int
	usage string
	do    func(r *runner, words []string) error
}

var known = map[string]spoken{
	"SET":       {2, "SET key value [EX seconds | PX ms | EXAT s | PXAT ms | KEEPTTL]", (*runner).set},
	"SETEX":     {3, "SETEX key seconds value", (*runner).setex},
	"JSON.SET":  {3, "JSON.SET key $ document", (*runner).setJSON},
	"HSET":      {3, "HSET key field value [field value ...]", (*runner).hset},
	"HMSET":     {3, "HMSET key field value [field value ...]", (*runner).hset},
	"HDEL":      {2, "HDEL key field [field ...]", (*runner).hdel},
	"SADD":      {2, "SADD key member [member ...]", (*runner).sadd},
	"SREM":      {2, "SREM key member [member ...]", (*runner).remove},
	"ZADD":      {3, "ZADD key score member [score member ...]", (*runner).zadd},
	"ZREM":      {2, "ZREM key member [member ...]", (*runner).remove},
	"RPUSH":     {2, "RPUSH key element [element ...]", func(r *runner, w []string) error { return r.push(w, false) }},
	"LPUSH":     {2, "LPUSH key element [element ...]", func(r *runner, w []string) error { return r.push(w, true) }},
	"XADD":      {4, "XADD key [MAXLEN [~|=] n] ms-number field value [field value ...]", (*runner).xadd},
	"XGROUP":    {4, "XGROUP CREATE key group id [MKSTREAM]", (*runner).ignored},
	"EXPIRE":    {2, "EXPIRE key seconds", func(r *runner, w []string) error { return r.expire(w, time.Second, false) }},
	"PEXPIRE":   {2, "PEXPIRE key ms", func(r *runner, w []string) error { return r.expire(w, time.Millisecond, false) }},
	"EXPIREAT":  {2, "EXPIREAT key seconds since 1970", func(r *runner, w []string) error { return r.expire(w, time.Second, true) }},
	"PEXPIREAT": {2, "PEXPIREAT key ms since 1970", func(r *runner, w []string) error { return r.expire(w, time.Millisecond, true) }},
	"PERSIST":   {1, "PERSIST key", (*runner).persist},
	"DEL":       {1, "DEL key [key ...]", (*runner).del},
	"UNLINK":    {1, "UNLINK key [key ...]", (*runner).del},
	"SELECT":    {1, "SELECT 0", (*runner).selected},
	"MULTI":     {0, "MULTI", (*runner).ignored},
	"EXEC":      {0, "EXEC", (*runner).ignored},
}

// do runs a command.
func (r *runner) do(line int, words []string) error {
	r.line = line
	name := strings.ToUpper(words[0])
	c, ok := known[name]
	if !ok {
		return fmt.Errorf("the command %q is not one that dumps are read with; take the line out, or say it with SET, HSET, SADD, ZADD, RPUSH or XADD", shortened(words[0]))
	}
	if len(words)-1 < c.least {
		return fmt.Errorf("%s wants more: it is written as %s", name, c.usage)
	}
	err := c.do(r, words[1:])
	if err != nil && len(words) > 1 && ofSessions(words[1]) {
		err = errors.New("it can't be read, and is not repeated, since ids of sessions are secrets")
	}
	if err != nil {
		return fmt.Errorf("%s: %w; it is written as %s", name, err, c.usage)
	}
	r.dump.Commands++
	return nil
}

// value returns what a key holds, which it makes of a kind if there is none.
func (r *runner) value(key string, kind Kind) (*Value, error) {
	v := r.dump.Values[key]
	if v == nil {
		v = &Value{Kind: kind}
		r.dump.Values[key] = v
	}
	if v.Kind != kind {
		return nil, fmt.Errorf("the key holds %s since line %d, not %s", v.Kind, v.Line, kind)
	}
	v.Line = r.line
	return v, nil
}

func (r *runner) set(w []string) error {
	v := &Value{Kind: Text, Line: r.line, Text: w[1]}
	for at := 2; at < len(w); at++ {
		option := strings.ToUpper(w[at])
		if option == "KEEPTTL" {
			if before := r.dump.Values[w[0]]; before != nil {
				v.Expires = before.Expires
			}
			continue
		}
		unit, absolute := time.Second, strings.HasSuffix(option, "AT")
		if strings.HasPrefix(option, "P") {
			unit = time.Millisecond
		}
		if !slices.Contains([]string{"EX", "PX", "EXAT", "PXAT"}, option) || at+1 == len(w) {
			return fmt.Errorf("%q is no option that dumps have", shortened(w[at]))
		}
		at++
		var err error
		if v.Expires, err = r.moment(w[at], unit, absolute); err != nil {
			return err
		}
	}
	r.dump.Values[w[0]] = v
	return nil
}

func (r *runner) setex(w []string) error {
	return r.set([]string{w[0], w[2], "EX", w[1]})
}

func (r *runner) setJSON(w []string) error {
	if w[1] != "$" && w[1] != "." {
		return fmt.Errorf("only whole documents are read, whose path is $, not %q", shortened(w[1]))
	}
	return r.set([]string{w[0], w[2], "KEEPTTL"})
}

func (r *runner) hset(w []string) error {
	pairs := w[1:]
	// The source writes NX behind the fields, where Redis has no options.
	if len(pairs)%2 == 1 && strings.EqualFold(pairs[len(pairs)-1], "NX") {
		if pairs = pairs[:len(pairs)-1]; r.dump.Values[w[0]] != nil {
			return nil
		}
	}
	if len(pairs)%2 == 1 {
		return fmt.Errorf("the field %q has no value", shortened(pairs[len(pairs)-1]))
	}
	v, err := r.value(w[0], Hash)
	if err != nil {
		return err
	}
	if v.Fields == nil {
		v.Fields = map[string]string{}
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		v.Fields[pairs[0]] = pairs[1]
	}
	return nil
}

func (r *runner) hdel(w []string) error {
	v, err := r.value(w[0], Hash)
	if err != nil {
		return err
	}
	for _, field := range w[1:] {
		delete(v.Fields, field)
	}
	r.drop(w[0], len(v.Fields))
	return nil
}

// drop removes a key that holds nothing any more, as Redis does.
func (r *runner) drop(key string, left int) {
	if left == 0 {
		delete(r.dump.Values, key)
	}
}

func (r *runner) sadd(w []string) error {
	v, err := r.value(w[0], Set)
	if err != nil {
		return err
	}
	if v.Scores == nil {
		v.Scores = map[string]float64{}
	}
	for _, member := range w[1:] {
		v.Scores[member] = 0
	}
	return nil
}

// remove removes members of a set or of a sorted set.
func (r *runner) remove(w []string) error {
	v := r.dump.Values[w[0]]
	if v == nil {
		return nil
	}
	if v.Kind != Set && v.Kind != Sorted {
		return fmt.Errorf("the key holds %s since line %d, which has no members", v.Kind, v.Line)
	}
	for _, member := range w[1:] {
		delete(v.Scores, member)
	}
	r.drop(w[0], len(v.Scores))
	return nil
}

func (r *runner) zadd(w []string) error {
	pairs := w[1:]
	if len(pairs)%2 == 1 {
		return errors.New("scores and members are wanted in turn, without options")
	}
	v, err := r.value(w[0], Sorted)
	if err != nil {
		return err
	}
	if v.Scores == nil {
		v.Scores = map[string]float64{}
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		score, err := strconv.ParseFloat(pairs[0], 64)
		if err != nil || math.IsNaN(score) {
			return fmt.Errorf("%q is no score", shortened(pairs[0]))
		}
		v.Scores[pairs[1]] = score
	}
	return nil
}

func (r *runner) push(w []string, front bool) error {
	v, err := r.value(w[0], List)
	if err != nil {
		return err
	}
	if front {
		v.front = append(v.front, w[1:]...)
	} else {
		v.List = append(v.List, w[1:]...)
	}
	return nil
}

// xadd adds an entry. One whose id is * has no place in a dump: what it was is not known.
func (r *runner) xadd(w []string) error {
	key, rest := w[0], w[1:]
	if strings.EqualFold(rest[0], "MAXLEN") {
		rest = rest[1:]
		if rest[0] == "~" || rest[0] == "=" {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	if len(rest) < 3 || len(rest)%2 == 0 {
		return errors.New("an id is wanted, and fields with their values")
	}
	ms, seq, _ := strings.Cut(rest[0], "-")
	if seq == "" {
		seq = "0"
	}
	var id ID
	var err, bad error
	id.Ms, err = strconv.ParseUint(ms, 10, 64)
	id.Seq, bad = strconv.ParseUint(seq, 10, 64)
	if err != nil || bad != nil {
		return fmt.Errorf("the id %q is not milliseconds and a number, such as 1710775800000-0; * does not say when it was", shortened(rest[0]))
	}
	v, err := r.value(key, Stream)
	if err != nil {
		return err
	}
	if n := len(v.Entries); n > 0 && v.Entries[n-1].ID.Compare(id) >= 0 {
		return fmt.Errorf("the id %s is not greater than that of the entry before, %d-%d", rest[0], v.Entries[n-1].ID.Ms, v.Entries[n-1].ID.Seq)
	}
	e := Entry{ID: id, Fields: map[string]string{}}
	for pairs := rest[1:]; len(pairs) > 0; pairs = pairs[2:] {
		e.Fields[pairs[0]] = pairs[1]
	}
	v.Entries = append(v.Entries, e)
	return nil
}

func (r *runner) expire(w []string, unit time.Duration, absolute bool) error {
	at, err := r.moment(w[1], unit, absolute)
	if err != nil {
		return err
	}
	if len(w) > 2 {
		return fmt.Errorf("%q is no option that dumps have", shortened(w[2]))
	}
	if v := r.dump.Values[w[0]]; v != nil {
		v.Expires = at
	}
	return nil
}

func (r *runner) persist(w []string) error {
	if v := r.dump.Values[w[0]]; v != nil {
		v.Expires = time.Time{}
	}
	return nil
}

// moment is a time that a command says, in a unit: from now on, or since 1970.
func (r *runner) moment(text string, unit time.Duration, absolute bool) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > int64(math.MaxInt64/unit) || n < 0 {
		return time.Time{}, fmt.Errorf("%q is no time", shortened(text))
	}
	if absolute {
		return time.Unix(0, n*int64(unit)).UTC(), nil
	}
	return r.now.Add(time.Duration(n) * unit), nil
}

func (r *runner) del(w []string) error {
	for _, key := range w {
		delete(r.dump.Values, key)
	}
	return nil
}

func (r *runner) selected(w []string) error {
	if w[0] != "0" {
		return fmt.Errorf("the dump is of database %q: one is imported at a time, as database 0", shortened(w[0]))
	}
	return nil
}

func (*runner) ignored([]string) error { return nil }

// shortened is a word for a message.
func shortened(word string) string {
	word = shown(word)
	if len(word) > 40 {
		return word[:40] + "…"
	}
	return word
}
