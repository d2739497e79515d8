package contract

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func compared(t *testing.T, accepted, proposed string) *Plan {
	a, b := parse(t, accepted), parse(t, proposed)
	plan, err := Compare(a, b)
	require.NoError(t, err)
	again, err := Compare(a, b)
	require.NoError(t, err)
	require.Equal(t, plan, again)
	for _, c := range plan.Changes {
		require.NotEmpty(t, c.Reason)
		require.True(t, c.From == nil || json.Valid(c.From))
		require.True(t, c.To == nil || json.Valid(c.To))
	}
	return plan
}

// only is the one change of a plan, whose class is the plan's.
func only(t *testing.T, accepted, proposed string) Change {
	plan := compared(t, accepted, proposed)
	require.Len(t, plan.Changes, 1, "%v", plan.Changes)
	require.Equal(t, plan.Class, plan.Changes[0].Class)
	return plan.Changes[0]
}

func TestT21AnAliasIsAdded(t *testing.T) {
	c := only(t, audit, patched(t, `{"resources":{"kv":{"more":{"purpose":"p","schema":{"schema":"AuditEntry"},"maxValueBytes":5}}}}`))
	require.Equal(t, []any{"more", WhatAdd, ClassUpdate}, []any{c.Alias, c.What, c.Class})
	require.Nil(t, c.From)
	require.JSONEq(t, `{"history":1,"maxValueBytes":5,"purpose":"p","required":true,"schema":"`+parse(t, audit).Alias("activity").Schema.Digest()+`","ttlMs":0}`, string(c.To))
}

// changed is what a plan says of a field of the alias that is given one value and another;
// "" is that it is not given.
func changed(t *testing.T, field, from, to string) Change {
	with := func(value string) string {
		if value == "" {
			return audit
		}
		return entry(t, fmt.Sprintf(`{"%s":%s}`, field, value))
	}
	c := only(t, with(from), with(to))
	require.Equal(t, "activity", c.Alias)
	require.Equal(t, What(field), c.What)
	return c
}

func TestT22MoreIsKept(t *testing.T) {
	c := changed(t, "history", "", "5")
	require.Equal(t, []any{ClassUpdate, "1", "5"}, []any{c.Class, string(c.From), string(c.To)})
	require.Equal(t, ClassUpdate, changed(t, "maxValueBytes", "100", "101").Class)
	c = changed(t, "maxValueBytes", "100", "")
	require.Equal(t, []any{ClassUpdate, "100", "null"}, []any{c.Class, string(c.From), string(c.To)})
}

func TestT23ThePurposeIsAnother(t *testing.T) {
	c := changed(t, "purpose", "", `"other"`)
	require.Equal(t, []any{ClassUpdate, `"Store normalized activity entries"`, `"other"`}, []any{c.Class, string(c.From), string(c.To)})
}

func TestT24RequiredOrNot(t *testing.T) {
	c := changed(t, "required", "", "false")
	require.Equal(t, []any{ClassUpdate, "true", "false"}, []any{c.Class, string(c.From), string(c.To)})
	require.Contains(t, c.Reason, "optional")
	require.Equal(t, ClassUpdate, changed(t, "required", "false", "true").Class)
}

func TestT25AnAliasIsRemovedOrRenamed(t *testing.T) {
	c := only(t, audit, patched(t, `{"resources":null}`))
	require.Equal(t, []any{"activity", WhatRemove, ClassMigration}, []any{c.Alias, c.What, c.Class})
	require.Nil(t, c.To)
	renamed := compared(t, audit, patched(t, `{"resources":{"kv":{"activity":null,"Entries":{"purpose":"Store normalized activity entries","schema":{"schema":"AuditEntry"}}}}}`))
	require.Equal(t, ClassMigration, renamed.Class)
	require.Len(t, renamed.Changes, 2)
	require.Equal(t, []any{"Entries", WhatAdd, ClassUpdate}, []any{renamed.Changes[0].Alias, renamed.Changes[0].What, renamed.Changes[0].Class})
	require.Equal(t, []any{"activity", WhatRemove, ClassMigration}, []any{renamed.Changes[1].Alias, renamed.Changes[1].What, renamed.Changes[1].Class})
	require.Contains(t, renamed.Changes[1].Reason, "renamed")
}

func TestT26LessIsKept(t *testing.T) {
	c := changed(t, "history", "5", "4")
	require.Equal(t, ClassMigration, c.Class)
	require.Contains(t, c.Reason, "newest 4 of the 5")
	require.Equal(t, ClassMigration, changed(t, "maxValueBytes", "100", "99").Class)
	c = changed(t, "maxValueBytes", "", "10000000")
	require.Equal(t, []any{ClassMigration, "null", "10000000"}, []any{c.Class, string(c.From), string(c.To)})
}

func TestT27ShorterLives(t *testing.T) {
	for _, c := range []struct {
		from, to string
		class    Class
	}{{"1000", "999", ClassMigration}, {"", "1", ClassMigration}, {"0", "3153600000000", ClassMigration}, {"1000", "1001", ClassUpdate}, {"1000", "0", ClassUpdate}} {
		require.Equal(t, c.class, changed(t, "ttlMs", c.from, c.to).Class, "%s to %s", c.from, c.to)
	}
}

func TestT28SchemasOfAPlan(t *testing.T) {
	c := only(t, audit, patched(t, `{"schemas":{"AuditEntry":{"properties":{"at":{"type":"integer"}}}}}`))
	require.Equal(t, []any{WhatSchema, ClassUpdate, []string{"/properties/at"}}, []any{c.What, c.Class, c.Unchecked})
	require.NotEqual(t, string(c.From), string(c.To))

	c = only(t, audit, patched(t, `{"schemas":{"AuditEntry":{"required":["at","who"]}}}`))
	require.Equal(t, []any{WhatSchema, ClassMigration, "/required"}, []any{c.What, c.Class, c.Path})
	require.Contains(t, c.Reason, `without "at"`)

	c = only(t, audit, patched(t, `{"schemas":{"AuditEntry":{"title":"x"}}}`))
	require.Equal(t, []any{WhatSchema, ClassUpdate}, []any{c.What, c.Class})
	require.Contains(t, c.Reason, "same values")

	c = only(t, audit, patched(t, `{"schemas":{"AuditEntry":{"required":null}}}`))
	require.Equal(t, ClassUpdate, c.Class)
	require.NotContains(t, c.Reason, "already")
	require.Equal(t, ClassUnchanged, compared(t, audit, patched(t, `{"schemas":{"Other":{}}}`)).Class)
}

// One change that is a migration makes the plan one, wherever it stands; changes of an alias
// are in one order.
func TestT29OneMigrationMakesThePlanOne(t *testing.T) {
	plan := compared(t, entry(t, `{"history":5}`), entry(t, `{"history":6,"ttlMs":10,"maxValueBytes":10,"required":false,"purpose":"q"}`))
	require.Equal(t, ClassMigration, plan.Class)
	var what []What
	for _, c := range plan.Changes {
		what = append(what, c.What)
	}
	require.Equal(t, []What{WhatPurpose, WhatRequired, WhatHistory, WhatTTL, WhatMaxValueBytes}, what)
	plan = compared(t, entry(t, `{"ttlMs":10}`), entry(t, `{"ttlMs":9,"history":6}`))
	require.Equal(t, ClassMigration, plan.Class)
	plan = compared(t, audit, entry(t, `{"history":6,"purpose":"q"}`))
	require.Equal(t, ClassUpdate, plan.Class)
}

func TestNothingIsComparedWithAnotherService(t *testing.T) {
	_, err := Compare(parse(t, audit), parse(t, patched(t, `{"service":"billing"}`)))
	require.ErrorIs(t, err, ErrContract)
	plan, err := Compare(nil, parse(t, patched(t, `{"resources":null}`)))
	require.NoError(t, err)
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	require.Equal(t, `{"class":"unchanged","changes":[]}`, string(text))
}
