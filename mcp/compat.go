package mcp

// Downgrade returns value, a pointer to params or to a result, in a form that a
// peer of revision v understands. It changes nothing in place: what must
// differ is copied.
func Downgrade(v Version, value any) any {
	return value
}
