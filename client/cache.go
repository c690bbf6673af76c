package client

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// cache keeps results for as long as their ttlMs says. It is safe for
// concurrent use.
type cache struct {
	maxEntries, maxBytes int

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // of *cacheEntry
	order   *list.List                 // oldest first
	bytes   int
	emptied map[string]uint64 // how often the results of a method were dropped
}

// cacheKey is the method and all that affects its result. auth is "" for what
// anybody may see.
type cacheKey struct{ method, params, auth string }

type cacheEntry struct {
	key    cacheKey
	result jsontext.Value
	until  time.Time
}

func newCache(l Limits) *cache {
	return &cache{
		maxEntries: l.CacheEntries, maxBytes: l.CacheBytes,
		entries: make(map[cacheKey]*list.Element), order: list.New(), emptied: make(map[string]uint64),
	}
}

// load returns a fresh result, or nil. It must not be changed.
func (c *cache) load(key cacheKey) jsontext.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range [...]cacheKey{key, {method: key.method, params: key.params}} {
		el, ok := c.entries[key]
		if !ok {
			continue
		}
		e := el.Value.(*cacheEntry)
		if time.Now().Before(e.until) {
			return e.result
		}
		c.remove(el)
	}
	return nil
}

// generation is to be read before the request is sent: a result that was asked
// for before a notification is not stored after it.
func (c *cache) generation(method string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.emptied[method]
}

// store keeps result, which belongs to the cache from now on.
func (c *cache) store(generation uint64, key cacheKey, result jsontext.Value, ttl time.Duration) {
	size := len(result) + len(key.params)
	if ttl <= 0 || over(size, c.maxBytes) || c.maxEntries == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.emptied[key.method] != generation {
		return
	}
	if el, ok := c.entries[key]; ok {
		c.remove(el)
	}
	c.entries[key] = c.order.PushBack(&cacheEntry{key, result, time.Now().Add(ttl)})
	c.bytes += size
	for over(len(c.entries), c.maxEntries) || over(c.bytes, c.maxBytes) {
		c.remove(c.order.Front())
	}
}

func (c *cache) remove(el *list.Element) {
	e := c.order.Remove(el).(*cacheEntry)
	delete(c.entries, e.key)
	c.bytes -= len(e.result) + len(e.key.params)
}

// drop empties the cache of the results of methods, also of those under way.
func (c *cache) drop(methods ...string) {
	for _, m := range methods {
		c.dropIf(m, func(*cacheEntry) bool { return true })
	}
}

// dropRead drops what was read of a resource that changed. The URI may be of a
// part of what was read, or of the whole that a part was read of.
func (c *cache) dropRead(method, uri string) {
	c.dropIf(method, func(e *cacheEntry) bool {
		var p struct {
			URI string `json:"uri"`
		}
		err := json.Unmarshal(object([]byte(e.key.params)), &p)
		return err != nil || strings.HasPrefix(uri, p.URI) || strings.HasPrefix(p.URI, uri)
	})
}

func (c *cache) dropIf(method string, match func(*cacheEntry) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emptied[method]++
	for el := c.order.Front(); el != nil; {
		next := el.Next()
		if e := el.Value.(*cacheEntry); e.key.method == method && match(e) {
			c.remove(el)
		}
		el = next
	}
}

// ttlOf reads ttlMs. What is absent or negative is stale at once.
func ttlOf(ms *int64) time.Duration {
	if ms == nil || *ms <= 0 {
		return 0
	}
	if *ms >= maxTTL.Milliseconds() {
		return maxTTL
	}
	return time.Duration(*ms) * time.Millisecond
}
