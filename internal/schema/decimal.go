package schema

import (
	"bytes"
	"math/bits"
)

// decimal is a number exactly as it is written: 0.d₁d₂d₃… × 10^exp. Nothing is
// rounded and nothing is allocated, however many digits there are. The zero
// value is 0.
type decimal struct {
	negative bool
	digits   text // from the first that is not 0 to the last, perhaps with a point
	count    int  // of digits, without the point
	exp      int
}

// maxExponent is where exponents end: all that are larger are the same.
const maxExponent = 1 << 60

// parse reads the number that is all of t.
func (t text) parse() decimal {
	var d decimal
	if t.at(0) == '-' {
		d.negative = true
		t = t[1:]
	}
	exp := 0
	if e := bytes.IndexAny(t, "eE"); e >= 0 {
		exp = t[e+1:].exponent()
		t = t[:e]
	}
	whole := len(t)
	if p := bytes.IndexByte(t, '.'); p >= 0 {
		whole = p
		if t = trimZeros(t); len(t) > 0 && t[len(t)-1] == '.' {
			t = t[:len(t)-1]
		}
	}
	first := 0
	for first < len(t) && (t[first] == '0' || t[first] == '.') {
		first++
	}
	if t = trimZeros(t[first:]); len(t) == 0 {
		return decimal{}
	}
	d.digits, d.count = t, len(t)
	d.exp = whole - first + exp
	if first > whole { // behind the point, which has no weight
		d.exp++
	}
	if first <= whole && first+len(t) > whole {
		d.count--
	}
	return d
}

// trimZeros cuts the zeros at the end off.
func trimZeros(t text) text {
	for len(t) > 0 && t[len(t)-1] == '0' {
		t = t[:len(t)-1]
	}
	return t
}

func (t text) exponent() int {
	negative := t.at(0) == '-'
	if negative || t.at(0) == '+' {
		t = t[1:]
	}
	n := 0
	for _, c := range t {
		if n >= maxExponent/10 {
			n = maxExponent
			break
		}
		n = n*10 + int(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

func (d decimal) isInteger() bool { return d.count <= d.exp || d.count == 0 }

// cmp is negative where d is less than o.
func (d decimal) cmp(o decimal) int {
	switch {
	case d.count == 0 && o.count == 0:
		return 0
	case d.count == 0:
		return o.sign(-1)
	case o.count == 0, d.negative != o.negative:
		return d.sign(1)
	case d.exp != o.exp:
		if d.exp < o.exp {
			return d.sign(-1)
		}
		return d.sign(1)
	}
	for i, k := 0, 0; ; i, k = i+1, k+1 {
		if d.digits.at(i) == '.' {
			i++
		}
		if o.digits.at(k) == '.' {
			k++
		}
		a, b := d.digits.at(i), o.digits.at(k) // 0 behind the end, less than any digit
		switch {
		case a == 0 && b == 0:
			return 0
		case a < b:
			return d.sign(-1)
		case a > b:
			return d.sign(1)
		}
	}
}

// sign turns the result for positive numbers into that for numbers of d's sign.
func (d decimal) sign(n int) int {
	if d.negative {
		return -n
	}
	return n
}

// maxDivisorDigits is how many digits fit in 64 bits, whatever they are.
const maxDivisorDigits = 19

// multipleOf reports whether d is a whole number of times m, which has no more
// than maxDivisorDigits digits.
func (d decimal) multipleOf(m decimal) bool {
	if d.count == 0 {
		return true
	}
	// d is a × 10^x and m is b × 10^y, where 10 divides neither a nor b.
	shift := (d.exp - d.count) - (m.exp - m.count)
	if shift < 0 {
		return false
	}
	b := uint64(0)
	for _, c := range m.digits {
		if c != '.' {
			b = b*10 + uint64(c-'0')
		}
	}
	rest := uint64(0)
	for _, c := range d.digits {
		if c != '.' {
			rest = mulMod(rest, 10, uint64(c-'0'), b)
		}
	}
	for power := uint64(10) % b; shift > 0 && rest > 0; shift >>= 1 {
		if shift&1 == 1 {
			rest = mulMod(rest, power, 0, b)
		}
		power = mulMod(power, power, 0, b)
	}
	return rest == 0
}

// mulMod returns (x×y + add) mod m.
func mulMod(x, y, add, m uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	lo, carry := bits.Add64(lo, add, 0)
	return bits.Rem64(hi+carry, lo, m)
}
