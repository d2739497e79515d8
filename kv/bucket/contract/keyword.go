package contract

// form is what the value of a keyword is: which schemas are in it, if any, and whether it has
// a say in which values are valid.
type form int

const (
	plainValue form = iota // no schema: a number, a list of names, values
	one                    // a schema
	list                   // an array of schemas
	named                  // an object of schemas
	silent                 // says nothing of which values are valid, nor what they mean
	meaning                // says nothing of which values are valid, but what they mean
)

// forms are the keywords of the draft 2020-12, and what of older ones the library minds.
// A word that is not here is of form plainValue, and decides nothing that is known.
var forms = map[string]form{
	"$schema": silent, "$id": silent, "$comment": silent, "$defs": silent, "definitions": silent, "$vocabulary": silent,
	"title": silent, "description": silent, "examples": silent, "deprecated": silent, "readOnly": silent, "writeOnly": silent,
	"default": meaning, "contentEncoding": meaning, "contentMediaType": meaning, "contentSchema": meaning,

	"not": one, "if": one, "then": one, "else": one,
	"items": one, "contains": one, "additionalProperties": one, "propertyNames": one, "unevaluatedItems": one, "unevaluatedProperties": one,
	"allOf": list, "anyOf": list, "oneOf": list, "prefixItems": list,
	"properties": named, "patternProperties": named, "dependentSchemas": named, "dependencies": named,
}

// inPlace are the keywords whose schemas are about the value itself, not about what is in it.
var inPlace = map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true, "then": true, "else": true, "dependentSchemas": true, "dependencies": true}

// movable are words by which the meaning of a schema depends on more than where it stands. A
// schema that has one is the same as another only if it is so as a whole.
var movable = map[string]bool{"$id": true, "$anchor": true, "$dynamicRef": true, "$dynamicAnchor": true, "$recursiveRef": true, "$recursiveAnchor": true}

// meaningful are the keywords of that form.
var meaningful = []string{"contentEncoding", "contentMediaType", "contentSchema", "default"}
