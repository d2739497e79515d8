package inspect

import (
	"crypto/ed25519"
	"crypto/sha256"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// checkTree checks that children and parents name each other, and that no group
// is above itself.
func checkTree(v *verifier) check {
	return rowCheck(func(r row) error {
		switch r.info.Name {
		case "GroupChildIndex":
			k, err := keys.GroupChildIndex{}.Parse(r.key)
			if err != nil {
				return err
			}
			ref, ok, err := get(v, keys.GroupParentRef{Child: k.Child})
			if err == nil && (!ok || ref.ParentID != k.Parent) {
				err = v.found("child-mirror", column.Group, r.key, "the child does not name this parent")
			}
			return err
		case "GroupParentRef":
			k, err := keys.GroupParentRef{}.Parse(r.key)
			if err != nil {
				return err
			}
			return v.parent(r, k.Child)
		}
		return nil
	})
}

func (v *verifier) parent(r row, child codec.GroupID) error {
	ref, err := codec.ParentRefValue{}.Decode(r.value)
	if err != nil {
		return err
	}
	there, err := has(v, keys.GroupChildIndex{Parent: ref.ParentID, Child: child})
	if err != nil {
		return err
	}
	if !there {
		return v.found("parent-mirror", column.Group, r.key, "the parent %s does not list this child", ref.ParentID)
	}
	at := ref.ParentID
	for range maxDepth {
		if at == child {
			return v.found("group-cycle", column.Group, r.key, "the group is above itself")
		}
		next, ok, err := get(v, keys.GroupParentRef{Child: at})
		if err != nil || !ok {
			return err
		}
		at = next.ParentID
	}
	return nil
}

// checkContexts checks that contexts and their groups name each other.
func checkContexts(v *verifier) check {
	return rowCheck(func(r row) error {
		switch r.info.Name {
		case "GroupContextIndex":
			k, err := keys.GroupContextIndex{}.Parse(r.key)
			if err != nil {
				return err
			}
			ref, ok, err := get(v, keys.ContextGroupRef{Context: k.Context})
			if err != nil || ok && ref.GroupID == k.Group {
				return err
			}
			elsewhere, err := v.elsewhere(k, codec.Option[codec.GroupID]{V: ref.GroupID, Valid: ok})
			if err == nil && !elsewhere {
				err = v.found("context-mirror", column.Group, r.key, "the context does not name this group")
			}
			return err
		case "ContextGroupRef":
			k, err := keys.ContextGroupRef{}.Parse(r.key)
			if err != nil {
				return err
			}
			ref, err := codec.GroupRefValue{}.Decode(r.value)
			if err != nil {
				return err
			}
			there, err := has(v, keys.GroupContextIndex{Group: ref.GroupID, Context: k.Context})
			if err == nil && !there {
				err = v.found("context-mirror", column.Group, r.key, "the group %s does not list this context", ref.GroupID)
			}
			return err
		}
		return nil
	})
}

// elsewhere reports whether a context that a group lists has another group, or none, since
// groups of several namespaces claim it.
func (v *verifier) elsewhere(k keys.GroupContextIndex, named codec.Option[codec.GroupID]) (bool, error) {
	claims, err := namespace.Claims(v.source, k.Context)
	if err != nil {
		if isDamage(err) {
			return false, nil // it is reported where it is
		}
		return false, err
	}
	home, ok := group.Home(claims)
	return ok == named.Valid && home.Group == named.V &&
		slices.ContainsFunc(claims, func(c group.Claim) bool { return c.Group == k.Group }), nil
}

// checkKeyIDs checks that keys are those that their ids say.
func checkKeyIDs(v *verifier) check {
	return rowCheck(func(r row) error {
		var want []byte
		switch r.info.Name {
		case "GroupKeyEntry":
			k, err := codec.GroupKeyValue{}.Decode(r.value)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(k.Key[:])
			want = sum[:]
		case "GroupSigningKey":
			k, err := codec.GroupSigningKeyValue{}.Decode(r.value)
			if err != nil {
				return err
			}
			want = publicKey(k.PrivateKey)
		case "NamespaceIdentity":
			k, err := codec.NamespaceIdentityValue{}.Decode(r.value)
			if err != nil {
				return err
			}
			if string(publicKey(k.PrivateKey)) != string(k.PublicKey[:]) {
				return v.found("key-id", column.Group, r.key, "the public key is not that of the private key")
			}
			return nil
		default:
			return nil
		}
		if string(r.key[len(r.key)-len(want):]) != string(want) {
			return v.found("key-id", column.Group, r.key, "the key is not the one that the id names")
		}
		return nil
	})
}

// publicKey returns the Ed25519 public key of a seed.
func publicKey(seed codec.Secret) []byte {
	return ed25519.NewKeyFromSeed(seed.Bytes()).Public().(ed25519.PublicKey)
}
