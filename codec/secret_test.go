package codec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaks are the forms in which key material of 0xA7 bytes could show.
var leaks = []string{"a7a7", "A7A7", "167 167", "0xa7", "0xA7", "\xa7\xa7", "10100111", "247247", "p6enp6e"}

func requireRedacted(t *testing.T, text string) {
	t.Helper()
	for _, leak := range leaks {
		require.NotContains(t, text, leak)
	}
	require.Contains(t, text, "redacted:")
}

func TestSecretsNeverShow(t *testing.T) {
	key := Secret(bytes.Repeat([]byte{0xA7}, 32))
	records := []any{key, &key, []Secret{key}, map[string]Secret{"k": key}, Some(key),
		ContextIdentityValue{PrivateKey: Some(key), SenderKey: Some(key)},
		&NamespaceIdentityValue{PrivateKey: key, SenderKey: key},
		GroupSigningKeyValue{key}, GroupKeyValue{key}}
	for _, v := range records {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%b", "%o", "%c", "%U", "%e", "%t", "%100v", "%.3s"} {
			t.Run(fmt.Sprintf("%T %s", v, verb), func(t *testing.T) {
				text := fmt.Sprintf(verb, v)
				for _, leak := range leaks {
					require.NotContains(t, text, leak)
				}
			})
		}
		requireRedacted(t, fmt.Sprint(v))
		text, err := json.Marshal(v)
		require.NoError(t, err)
		requireRedacted(t, string(text))

		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		requireRedacted(t, log.String())
	}
	requireRedacted(t, fmt.Errorf("bad key %x", key).Error())
	requireRedacted(t, key.GoString())
	requireRedacted(t, key.LogValue().String())
}

func TestSecretsTellApart(t *testing.T) {
	a, b := Secret{1}, Secret{2}
	require.NotEqual(t, a.String(), b.String())
	require.Len(t, a.String(), len("redacted:")+8)
	require.True(t, a.Equal(Secret{1}))
	require.False(t, a.Equal(b))
	require.True(t, Secret{}.IsZero())
	require.False(t, a.IsZero())
}

func TestSecretsComeOutOnlyWhenAsked(t *testing.T) {
	key := Secret{1, 2, 3}
	require.Equal(t, hex.EncodeToString(key[:]), key.Reveal())
	copied := key.Bytes()
	copied[0] = 9
	require.Equal(t, byte(1), key[0])

	var back Secret
	require.NoError(t, back.UnmarshalText([]byte(key.Reveal())))
	require.Equal(t, key, back)
	redacted, err := key.MarshalText()
	require.NoError(t, err)
	err = back.UnmarshalText(redacted)
	require.ErrorIs(t, err, ErrMalformed)
	require.ErrorContains(t, err, "the secret itself is needed")
}

func TestErrorsDoNotRepeatSecrets(t *testing.T) {
	typ, _ := TypeByName("GroupKeyEntry")
	text := strings.Repeat("a7", 31) + "zz"
	_, err := typ.FromJSON([]byte(`{"key":"` + text + `"}`))
	require.ErrorIs(t, err, ErrMalformed)
	require.NotContains(t, err.Error(), "a7a7")

	src := append([]byte{31, 0, 0, 0}, bytes.Repeat([]byte{0xA7}, 31)...)
	require.NotContains(t, typ.Check(src).Error(), "a7a7")
}

func TestTypesThatHoldSecretsAreMarked(t *testing.T) {
	var names []string
	for typ := range Types() {
		if typ.Secret {
			names = append(names, typ.Name)
		}
	}
	require.Equal(t, []string{"ContextIdentityValue", "GroupSigningKeyValue", "NamespaceIdentityValue", "GroupKeyEntry"}, names)
}
