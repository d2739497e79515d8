package keys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

func TestSchemaListsEveryKeyTypeOnce(t *testing.T) {
	names, places, tested := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, k := range kinds {
		tested[k.info.Name] = true
	}
	columns := map[column.Column]bool{}
	for i := range Schema() {
		columns[i.Column] = true
		require.False(t, names[i.Name], i.Name)
		names[i.Name] = true
		place := fmt.Sprintf("%s %#02x", i.Column, i.Tag)
		if i.Column == column.Blobs {
			place += fmt.Sprint(i.Size)
		}
		require.False(t, places[place], "%s shares %s", i.Name, place)
		places[place] = true
		require.True(t, tested[i.Name], "%s is not tested", i.Name)
		require.Equal(t, i.Tag != 0, i.Column == column.Group)
		require.False(t, reserved(i.Tag))

		found, ok := ByName(i.Name)
		require.True(t, ok)
		require.Equal(t, i.Name, found.Name)
	}
	require.Len(t, names, 34)
	require.Len(t, columns, column.Count)
	_, ok := ByName("GroupMembers")
	require.False(t, ok)
}

func TestSchemaBindsTheValueOfTheKeyType(t *testing.T) {
	for i := range Schema() {
		require.NotEmpty(t, i.Value.Name, "%s: no such value type in codec", i.Name)
		require.Equal(t, i.ops.goValue.String(), i.Value.Go, i.Name)
	}
}

func TestFieldsFillTheKey(t *testing.T) {
	for i := range Schema() {
		size := 0
		if i.Tag != 0 {
			size = 1
		}
		for n, f := range i.Fields {
			size += f.Bytes
			require.Equal(t, i.MaxVar > 0 && n == len(i.Fields)-1, f.Bytes == 0, "%s.%s", i.Name, f.Name)
		}
		require.Equal(t, i.Size, size, i.Name)
		require.LessOrEqual(t, i.Size, MaxFixed)
	}
}

func TestErrorsNameTheKeyTypeAsTheSchemaDoes(t *testing.T) {
	each(t, func(t *testing.T, k kind) {
		_, err := k.parse(nil)
		require.ErrorContains(t, err, "keys: "+k.info.Name+" in "+k.info.Column.String())
	})
}

func TestSecretsAreWhereTheSchemaSays(t *testing.T) {
	var secret []string
	each(t, func(t *testing.T, k kind) {
		if k.info.Secret {
			secret = append(secret, k.info.Name)
		}
		key := append([]byte{k.info.Tag}, make([]byte, k.info.Size)...)
		require.Equal(t, k.info.Secret, Secret(k.info.Column, key))
		require.Equal(t, k.info.Secret, Sealed(k.info.Column, key))
		inRange := false
		for _, r := range SecretRanges(k.info.Column) {
			inRange = inRange || string(key) >= string(r.Start) && (r.End == nil || string(key) < string(r.End))
		}
		require.Equal(t, k.info.Secret, inRange)
	})
	require.Equal(t, []string{"ContextIdentity", "GroupSigningKey", "NamespaceIdentity", "GroupKeyEntry"}, secret)
	require.False(t, Secret(column.Group, nil))
	cursors := append(make([]byte, 16), "Ck"...)
	require.True(t, Secret(column.Generic, cursors))
	require.False(t, Sealed(column.Generic, cursors))
	require.False(t, Secret(column.State, cursors))
	require.Equal(t, []KeyRange{{cursors, append(cursors[:18:18], 0)}}, SecretRanges(column.Generic))
	require.Nil(t, SealedRanges(column.Generic))
	require.Equal(t, []KeyRange{{[]byte{0x25}, []byte{0x26}}, {[]byte{0x37}, []byte{0x38}}, {[]byte{0x3A}, []byte{0x3B}}}, SecretRanges(column.Group))
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	key, err := GroupMember{}.AppendBinary(nil)
	require.NoError(t, err)
	require.NoError(t, Check(column.Group, key, []byte{1}))
	err = Check(column.Group, key, []byte{3})
	require.ErrorIs(t, err, codec.ErrMalformed)
	require.NotErrorIs(t, err, ErrLayout)
	err = Check(column.Group, key[:64], []byte{1})
	require.ErrorIs(t, err, ErrLayout)
}

func TestCheckAllocatesNothing(t *testing.T) {
	check := func(col column.Column, key, value []byte) {
		t.Helper()
		require.NoError(t, Check(col, key, value))
		require.Zero(t, testing.AllocsPerRun(10, func() {
			_ = Check(col, key, value)
			_ = CheckKey(col, key)
			_, _ = Identify(col, key)
		}))
	}
	member, _ := GroupMember{}.AppendBinary(nil)
	check(column.Group, member, []byte{1})
	name, _ := NewName("main")
	alias, _ := Alias{Kind: AliasContext, Name: name}.AppendBinary(nil)
	check(column.Alias, alias, make([]byte, 32))
	check(column.State, make([]byte, 50), make([]byte, 1000))
	check(column.Generic, genericKey(t, "ssl_certs:server", make([]byte, 32)), []byte{1})
	check(column.Blobs, make([]byte, 32), make([]byte, 44))
	check(column.Blobs, make([]byte, 36), make([]byte, 44))
	meta, _ := codec.ContextMetaValue{DagHeads: make([]codec.DeltaID, 9), Application: codec.ApplicationMeta{
		Services: []codec.ServiceMeta{{Name: "a"}, {Name: "b"}}}}.AppendBinary(nil)
	check(column.Meta, make([]byte, 32), meta)
}

func TestKeyFromFieldsNamesWhatIsWrong(t *testing.T) {
	id := strings.Repeat("11", 32)
	for _, c := range []struct {
		typ    string
		fields map[string]string
		reason string
	}{
		{"GroupMember", map[string]string{"group_id": id}, "GroupMember.identity in Group: missing"},
		{"GroupMember", map[string]string{"group_id": id, "identity": id, "x": "1"}, "GroupMember.x in Group: unknown field (known: group_id, identity)"},
		{"GroupMember", map[string]string{"group_id": id[1:], "identity": id}, "group_id in Group: an odd number of hex digits"},
		{"GroupMember", map[string]string{"group_id": id[2:], "identity": id}, "group_id in Group: 62 hex digits instead of 64"},
		{"GroupMember", map[string]string{"group_id": "AA", "identity": id}, "character 1 is not a lower-case hex digit"},
		{"GroupOpLog", map[string]string{"group_id": id, "seq": "18446744073709551616"}, "seq in Group: not a whole number from 0 to 18446744073709551615"},
		{"BlobChunk", map[string]string{"blob_id": id, "index": "4294967296"}, "index in Blobs: not a whole number from 0 to 4294967295"},
		{"Alias", map[string]string{"kind": "4", "scope": id, "name": "a"}, "kind in Alias: none of 1 or context"},
		{"Alias", map[string]string{"kind": "1", "scope": id, "name": "a"}, "scope in Alias at byte 1: zeros are required"},
		{"Alias", map[string]string{"kind": "2", "scope": id, "name": ""}, "name in Alias: empty name"},
		{"Generic", map[string]string{"scope": "seventeen-letters", "fragment": ""}, "scope in Generic: name of 17 bytes"},
		{"ContextState", map[string]string{"context_id": id, "app_key": strings.Repeat("00", MaxVariable+1)}, "app_key in State: 65536 bytes, more than 65535"},
	} {
		info, ok := ByName(c.typ)
		require.True(t, ok)
		_, err := info.KeyFromFields(c.fields)
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, c.reason)
	}
}

func TestKeyJSONNamesWhatIsWrong(t *testing.T) {
	info, _ := ByName("GroupOpLog")
	id := strings.Repeat("11", 32)
	for text, reason := range map[string]string{
		``:                          "not a JSON object",
		`[]`:                        "not a JSON object",
		`{"group_id":"` + id + `"}`: "seq in Group: missing",
		`{"group_id":` + strings.Repeat("1", 64) + `,"seq":1}`: "group_id in Group: a number instead of a string",
		`{"group_id":"` + id + `","seq":1,"seq":2}`:            "seq: given twice",
		`{"group_id":"` + id + `","seq":null}`:                 "seq: neither a string nor a number",
		`{"group_id":"` + id + `","seq":1} 1`:                  "something follows",
		`{"group_id":"` + id + `","seq":1,"z":1,"y":1}`:        "GroupOpLog.y in Group: unknown field",
		"{\"group_id\":\"\xff\"}":                              "not valid UTF-8",
	} {
		_, err := info.KeyFromJSON([]byte(text))
		require.ErrorIs(t, err, ErrLayout, text)
		require.ErrorContains(t, err, reason, text)
	}
	for _, seq := range []string{`7`, `"7"`} {
		b, err := info.KeyFromJSON([]byte(`{"seq":` + seq + `,"group_id":"` + id + `"}`))
		require.NoError(t, err)
		require.Equal(t, byte(7), b[40])
	}
}
