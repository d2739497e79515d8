package access

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRightsAreSaidInWords(t *testing.T) {
	for text, want := range map[string]Rights{
		"reader":                   {Roles: Reader},
		"writer,reader":            {Roles: Reader | Writer},
		"signer,secrets,operator":  {Roles: Signer | Secrets | Operator},
		"all":                      {Roles: All},
		"none":                     {},
		"tenant:acme":              {Roles: Reader | Writer, Tenant: "acme"},
		"tenant:acme,reader":       {Roles: Reader, Tenant: "acme"},
		"writer,tenant:a=b:c":      {Roles: Writer, Tenant: "a=b:c"},
		"tenant:acme,tenant:acme":  {Roles: Reader | Writer, Tenant: "acme"},
		"reader,reader,writer,all": {Roles: All},
	} {
		r, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, r, text)
		again, err := Parse(r.String())
		require.NoError(t, err, "%s: %s", text, r)
		require.Equal(t, r, again, text)
	}
	for text, fault := range map[string]string{
		"":                    `"" is none of reader, writer, signer, secrets, operator, all, none and tenant:NAME`,
		"reader,":             `"" is none of`,
		"root":                `"root" is none of`,
		"Reader":              `"Reader" is none of`,
		"tenant:":             `"tenant:" is none of`,
		"tenant:a,tenant:b":   `two tenants, "a" and "b"`,
		"tenant:a,operator":   "may be reader and writer of it, and not operator",
		"all,tenant:a":        "and not signer,secrets,operator",
		"reader, writer":      `" writer" is none of`,
		"tenant:a,secrets":    "and not secrets",
		"reader;writer,write": `"reader;writer" is none of`,
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrRights, text)
		require.ErrorContains(t, err, fault, text)
	}
}

func TestAPeerMayWhatItsRolesSay(t *testing.T) {
	require.True(t, Rights{}.May(Anyone), "who may connect is anyone")
	for _, role := range []Role{Reader, Writer, Signer, Secrets, Operator} {
		require.False(t, Rights{}.May(role))
		require.True(t, Rights{Roles: role}.May(role))
		require.False(t, Rights{Roles: All &^ role}.May(role), "no role includes %s", role)
		require.True(t, Rights{Roles: All}.May(role))
	}
	require.False(t, Rights{Roles: Reader}.May(Reader|Writer))
	require.True(t, Rights{Roles: Operator}.Runs())
	require.False(t, Rights{Roles: All &^ Operator}.Runs())
	require.False(t, Rights{Roles: All, Tenant: "a"}.Runs())
}

func TestATableSaysWhoMayWhat(t *testing.T) {
	var table Table
	_, ok, err := table.Of(0, 0, nil)
	require.NoError(t, err)
	require.False(t, ok, "nobody may connect, root neither")
	require.NoError(t, table.User(7, Rights{Roles: Reader}))
	require.NoError(t, table.User(7, Rights{Roles: Signer}))
	require.NoError(t, table.User(8, Rights{Roles: Reader | Writer, Tenant: "a"}))
	require.NoError(t, table.Group(70, Rights{Roles: Writer}))
	require.NoError(t, table.Group(71, Rights{Roles: Operator}))
	require.NoError(t, table.Group(72, Rights{Roles: Reader, Tenant: "b"}))
	for about, want := range map[string]struct {
		uid, gid uint32
		groups   []uint32
		rights   Rights
		ok       bool
	}{
		"by user":                       {uid: 7, rights: Rights{Roles: Reader | Signer}, ok: true},
		"the user goes before groups":   {uid: 7, gid: 70, groups: []uint32{71}, rights: Rights{Roles: Reader | Signer}, ok: true},
		"bound, whatever its groups":    {uid: 8, gid: 71, rights: Rights{Roles: Reader | Writer, Tenant: "a"}, ok: true},
		"by its own group":              {uid: 9, gid: 70, rights: Rights{Roles: Writer}, ok: true},
		"by a supplementary one":        {uid: 9, gid: 1, groups: []uint32{2, 71}, rights: Rights{Roles: Operator}, ok: true},
		"groups add up":                 {uid: 9, gid: 70, groups: []uint32{71}, rights: Rights{Roles: Writer | Operator}, ok: true},
		"bound by a group":              {uid: 9, gid: 72, rights: Rights{Roles: Reader, Tenant: "b"}, ok: true},
		"a uid is no gid":               {uid: 70, gid: 7},
		"nobody":                        {uid: 9, gid: 1, groups: []uint32{2}},
		"the same group twice is once":  {uid: 9, gid: 72, groups: []uint32{72}, rights: Rights{Roles: Reader, Tenant: "b"}, ok: true},
		"a number beyond all is nobody": {uid: 1<<32 - 1, gid: 1<<32 - 1},
	} {
		r, ok, err := table.Of(want.uid, want.gid, want.groups)
		require.NoError(t, err, about)
		require.Equal(t, want.ok, ok, about)
		require.Equal(t, want.rights, r, about)
	}
	_, ok, err = table.Of(9, 70, []uint32{72})
	require.ErrorIs(t, err, ErrRights)
	require.False(t, ok, "who is bound by one group and not by the other may not connect")

	require.ErrorIs(t, table.User(7, Rights{Roles: Reader, Tenant: "a"}), ErrRights)
	require.ErrorIs(t, table.User(8, Rights{Roles: Reader, Tenant: "b"}), ErrRights)
	require.ErrorIs(t, table.User(10, Rights{Roles: Operator, Tenant: "a"}), ErrRights)
	require.NoError(t, table.User(8, Rights{Tenant: "a"}))

	require.True(t, table.Binds())
	require.True(t, table.Bound("a"))
	require.True(t, table.Bound("b"))
	require.False(t, table.Bound("c"))
	require.False(t, table.Bound(""))
	require.False(t, (&Table{}).Binds())
	var lines []string
	for _, row := range table.Rows() {
		lines = append(lines, fmt.Sprint(row.Group, row.ID, " ", row.Rights))
	}
	require.Equal(t, []string{"false 7 reader,signer", "false 8 tenant:a", "true 70 writer", "true 71 operator", "true 72 tenant:b,reader"}, lines)
}
