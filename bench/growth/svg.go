package main

import (
	"fmt"
	"math"
	"strings"
)

// The picture, in its own units.
const (
	width, height       = 680.0, 320.0
	left, right         = 60.0, 190.0
	top, bottom         = 40.0, 50.0
	plotWide, plotHigh  = width - left - right, height - top - bottom
	colours             = "#1f77b4 #d62728 #2ca02c #9467bd"
	grid, ink           = "#dddddd", "#333333"
	ticks               = 4
	smallFont, bigFont  = 11, 14
	legendX, legendStep = width - right + 10, 18
)

// svg draws the plot: x in powers of ten, y from zero.
func (p *plot) svg() string {
	lowX, highX, highY := math.Inf(1), 1.0, 0.0
	for _, l := range p.lines {
		for _, pt := range l.points {
			lowX, highX, highY = min(lowX, pt.x), max(highX, pt.x), max(highY, pt.y)
		}
	}
	step := niceStep(max(highY, p.bound) / ticks)
	scaleY := plotHigh / (step * ticks)
	atX := func(x float64) float64 {
		return left + plotWide*(math.Log(x)-math.Log(lowX))/max(1e-9, math.Log(highX)-math.Log(lowX))
	}
	atY := func(y float64) float64 { return top + plotHigh - y*scaleY }

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" font-family="sans-serif" font-size="%d" fill="%s">`+"\n", width, height, smallFont, ink)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%g" y="24" font-size="%d">%s, %s</text>`+"\n", left, bigFont, p.title, p.y)
	for i := range ticks + 1 {
		y := atY(step * float64(i))
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="%s"/><text x="%g" y="%.1f" text-anchor="end">%.4g</text>`+"\n", left, y, left+plotWide, grid, left-6, y+4, step*float64(i))
	}
	for x := lowX; x <= highX; x *= 10 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%g</text>`+"\n", atX(x), top+plotHigh+18, x)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end">%s</text>`+"\n", left+plotWide, top+plotHigh+36, p.x)
	if p.bound > 0 {
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="%s" stroke-dasharray="4"/>`+"\n", left, atY(p.bound), left+plotWide, ink)
	}
	for i, l := range p.lines {
		colour := strings.Fields(colours)[i%4]
		var path []string
		for _, pt := range l.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", atX(pt.x), atY(pt.y)))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`, atX(pt.x), atY(pt.y), colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/><text x="%g" y="%g" fill="%s">%s</text>`+"\n",
			strings.Join(path, " "), colour, legendX, top+10+float64(i)*legendStep, colour, l.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// niceStep returns the next of 1, 2, 2.5, 5 times a power of ten.
func niceStep(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if f*unit >= x {
			return f * unit
		}
	}
	return 10 * unit
}
