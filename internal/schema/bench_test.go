package schema_test

import "testing"

// Schemas and values as tools have them.
var samples = []struct{ name, schema, value string }{
	{"add", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`, `{"a":2,"b":3.5}`},
	{
		"search",
		`{"type":"object","properties":{"query":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100},"order":{"enum":["new","old","best"]},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":20},"area":{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"],"additionalProperties":false},
		"exact":{"type":"boolean"}},"required":["query"],"additionalProperties":false}`,
		`{"query":"the quick brown fox \"jumps\"","limit":30,"order":"best","tags":["a","bb","ccc"],"area":{"lat":52.5163,"lon":13.3777},"exact":true}`,
	},
	{
		"tree",
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"name":{"type":"string"},"kids":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/n"}}]}},"required":["name"],"additionalProperties":false}}}`,
		`{"name":"a","kids":[{"name":"b","kids":null},{"name":"c","kids":[{"name":"d"},{"name":"e","kids":[]}]}]}`,
	},
}

func BenchmarkValidate(b *testing.B) {
	for _, tt := range samples {
		s, v := mustCompile(b, tt.schema), []byte(tt.value)
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(v)))
			for b.Loop() {
				_ = s.Validate(v)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustCompile(b, samples[1].schema)
	}
}
