package codec

import (
	"iter"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Which fields count depends on the kind: a value with any other is refused, for to
// store it without would lose it in silence.
func TestNoFieldIsLostInSilence(t *testing.T) {
	properties(t, func(t *testing.T, k kind) {
		if reflect.TypeOf(k.zero).Kind() != reflect.Struct {
			t.Skip("no fields")
		}
		for variant := range variants(k) {
			base := reflect.New(reflect.TypeOf(k.zero)).Elem()
			if variant >= 0 {
				base.Field(0).SetUint(uint64(variant))
			}
			eachField(base, func(path string) {
				v := base.Interface()
				b, err := k.encode(v, nil)
				if err != nil {
					require.ErrorIs(t, err, ErrMalformed, path)
					return
				}
				back, err := k.decode(b)
				require.NoError(t, err, path)
				require.Equal(t, v, back, "variant %d with %s alone", variant, path)
			})
		}
	})
}

// variants yields the kinds of a type whose first field says which of the others
// count, and -1 for other types.
func variants(k kind) iter.Seq[int] {
	typ := reflect.TypeOf(k.zero)
	return func(yield func(int) bool) {
		if typ.NumField() == 0 || typ.Field(0).Type.Kind() != reflect.Uint8 {
			yield(-1)
			return
		}
		for n := 0; n < 32 && yield(n); n++ {
		}
	}
}

// eachField sets each of the fields below v alone, at any depth, calls with its path,
// and clears it again.
func eachField(v reflect.Value, with func(path string)) {
	var below func(v reflect.Value, path string)
	below = func(v reflect.Value, path string) {
		if !v.CanSet() {
			return
		}
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		defer v.Set(before)
		switch v.Kind() {
		case reflect.Struct:
			if valid := v.FieldByName("Valid"); valid.IsValid() { // an Option
				valid.SetBool(true)
				with(path)
				return
			}
			for i := range v.NumField() {
				below(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
			return
		case reflect.Array:
			v.Index(v.Len() - 1).SetUint(1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.SetUint(1)
		}
		with(path)
	}
	for i := range v.NumField() {
		if i > 0 || v.Field(i).Kind() != reflect.Uint8 {
			below(v.Field(i), v.Type().Field(i).Name)
		}
	}
}
