package client

import "strings"

// dialect is what a provider takes of JSON Schema. The words in it have spaces
// around them.
type dialect struct {
	// keeps are the keywords that are passed on. Nil = all, in which case only
	// names, references and what is no JSON Schema 2020-12 are changed.
	keeps words
	// cannot are keywords that have a meaning which no words replace.
	cannot words
	// formats are the values of format that are passed on. Nil = all.
	formats words
	// properties is what names of properties may have beside letters, digits
	// and _. "*" = anything, of any length.
	properties string
	// anyOf says that oneOf is said as anyOf, and an allOf of one as well.
	anyOf bool
	// stringEnums says that enum has strings and numbers only.
	stringEnums bool
	// bareRefs says that nothing may stand beside $ref.
	bareRefs bool

	// strict says that objects have no properties but those that are named.
	strict bool
	// allRequired says that a property which may be left out is null instead.
	allRequired bool
	// acyclic says that a schema must not contain itself.
	acyclic bool
	// Limits of strict modes. 0 = none.
	maxDepth, maxProperties, maxEnums int
}

type words string

func (w words) has(s string) bool {
	return s != "" && !strings.Contains(s, " ") && strings.Contains(string(w), " "+s+" ")
}

// dialectOf returns the dialect of a format, and whether there is one.
func dialectOf(f ModelFormat, strict bool) (dialect, bool) {
	const (
		shapes    = " type title description enum const anyOf items properties required additionalProperties $ref "
		structure = " allOf not if then else dependentSchemas dependentRequired patternProperties prefixItems unevaluatedItems " +
			"unevaluatedProperties contains propertyNames "
		formats = " date-time time date duration email hostname ipv4 ipv6 uuid "
	)
	switch {
	case (f == OpenAIResponses || f == OpenAIChat) && strict:
		// The guide "Structured model outputs", supported schemas.
		return dialect{
			keeps:   shapes + "pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems ",
			cannot:  structure,
			formats: formats, properties: "*", anyOf: true, bareRefs: true,
			strict: true, allRequired: true, maxDepth: 10, maxProperties: 5000, maxEnums: 1000,
		}, true
	case f == OpenAIResponses || f == OpenAIChat:
		return dialect{properties: "*"}, true
	case f == Anthropic && strict:
		// "Structured outputs", JSON Schema limitations.
		return dialect{
			keeps:   shapes + "default format ",
			cannot:  structure,
			formats: formats + "uri ", properties: ".-", anyOf: true, bareRefs: true,
			strict: true, acyclic: true,
		}, true
	case f == Anthropic:
		return dialect{properties: ".-"}, true
	case f == Gemini && !strict:
		// "Structured output", JSON Schema support, and FunctionDeclaration.
		return dialect{
			keeps:   " type title description enum anyOf items prefixItems properties required additionalProperties $ref format minimum maximum minItems maxItems ",
			cannot:  " allOf patternProperties dependentSchemas ",
			formats: " date-time date time ", anyOf: true, stringEnums: true, bareRefs: true,
		}, true
	}
	return dialect{}, false
}
