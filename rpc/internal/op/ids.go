package op

import "fmt"

// ParseHash returns the 32 bytes in a field, zeros too.
func ParseHash[T ~[32]byte](field string, b []byte) (id T, err error) {
	if len(b) != len(id) {
		return id, &FieldError{field, fmt.Sprintf("%d bytes instead of 32", len(b))}
	}
	return T(b), nil
}

// ParseID returns the id in a field. Zeros are none.
func ParseID[T ~[32]byte](field string, b []byte) (T, error) {
	id, err := ParseHash[T](field, b)
	if err == nil && id == (T{}) {
		err = &FieldError{field, "all zeros, which is no id"}
	}
	return id, err
}

// ParseOptional is ParseHash, but an empty field is zeros.
func ParseOptional[T ~[32]byte](field string, b []byte) (id T, err error) {
	if len(b) == 0 {
		return id, nil
	}
	return ParseHash[T](field, b)
}

// ParseIDs returns the ids in a repeated field.
func ParseIDs[T ~[32]byte](field string, list [][]byte) ([]T, error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]T, len(list))
	for i := range list {
		var err error
		if ids[i], err = ParseHash[T](field, list[i]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Bytes returns an id as it goes over the wire.
func Bytes[T ~[32]byte](id T) []byte { return append(make([]byte, 0, len(id)), id[:]...) }

// OptionalBytes is Bytes, but zeros are an empty field.
func OptionalBytes[T ~[32]byte](id T) []byte {
	if id == (T{}) {
		return nil
	}
	return Bytes(id)
}

// FromIDs returns ids as they go over the wire.
func FromIDs[T ~[32]byte](ids []T) [][]byte {
	if len(ids) == 0 {
		return nil
	}
	memory := make([]byte, 0, 32*len(ids))
	list := make([][]byte, len(ids))
	for i := range ids {
		memory = append(memory, ids[i][:]...)
		list[i] = memory[32*i : 32*i+32 : 32*i+32]
	}
	return list
}
