// The tests of tenon against other implementations. They have a module of
// their own so that nobody who uses tenon gets those as dependencies.
module github.com/tenon-mcp/tenon/interop

go 1.26

require github.com/tenon-mcp/tenon v0.0.0

require (
	github.com/mark3labs/mcp-go v1.2.1 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
)

replace github.com/tenon-mcp/tenon => ../
