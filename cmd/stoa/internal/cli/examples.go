package cli

// ExampleID stands for an id in examples.
const ExampleID = "1111111111111111111111111111111111111111111111111111111111111111"

// ZeroID is the scope of aliases that have none, and the id of no blob.
const ZeroID = "0000000000000000000000000000000000000000000000000000000000000000"

// ExampleApplication is an application of examples, as an argument.
const ExampleApplication = `'{"application_id":"` + ExampleID + `","bytecode":"` + ZeroID + `","size":"6","source":"file",` +
	`"metadata":"","compiled":"` + ZeroID + `","package":"org.example.chat","version":"1","signer_id":"","services":[]}'`

// ExampleDigits stand for the first digits of an id in examples.
const ExampleDigits = "2bf07165f318"
