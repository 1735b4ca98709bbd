package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// point is a measured CPU time per request at a number of connections or cores.
type point struct{ n, micros float64 }

// growthRows measures how the CPU time per HTTP request grows with the number of connections (the client has half of the cores) and
// with the number of the client's cores (32 connections per core). It fits a formula to each and draws both in growth.svg.
func growthRows(ctx context.Context, e *env) error {
	if !e.manyCores("growth") {
		return nil
	}
	half := coreSets(runtime.NumCPU() / 2)
	// With fewer than three connections per core, a core sleeps between two responses, and each request pays for waking it up.
	connections := curve{name: "connections", title: fmt.Sprintf("CPU per request by connections, %d cores", half), linear: true, from: float64(3 * half)}
	for _, n := range []int{1, 3, 10, 30, 100, 300, 1000, 3000, 10_000} {
		if err := e.grow(ctx, &connections, n, work{inFlight: n, cores: half}); err != nil {
			return err
		}
	}
	cores := curve{name: "cores", title: "CPU per request by cores, 32 connections each"}
	for n := 1; n <= runtime.NumCPU(); n *= 2 {
		if err := e.grow(ctx, &cores, n, work{inFlight: 32 * n, cores: coreSets(n)}); err != nil {
			return err
		}
	}
	e.report.note("growth: %s; %s", connections.formula(), cores.formula())
	if e.report.dir == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(e.report.dir, "growth.svg"), []byte(drawCurves([]curve{connections, cores})), 0o644)
}

// grow adds a point to a curve: the median of several runs.
func (e *env) grow(ctx context.Context, c *curve, n int, w work) error {
	w.name, w.protocol, w.elements = "HTTP infer, 64-byte tensor", "http", small
	w.requests = e.requests(200_000 + 100_000*w.cores.threads())
	if w.inFlight == 1 {
		w.requests /= 8
	}
	samples, err := e.compareTools(ctx, w, e.tools()[:1])
	if err != nil {
		return err
	}
	if len(samples["redline"]) == 0 {
		return errors.New("no run succeeded")
	}
	cost, rate := median(micros(samples["redline"])), median(rates(samples["redline"]))
	c.points = append(c.points, point{float64(n), cost})
	e.report.add(row{Work: c.title + fmt.Sprintf(": %d", n), InFlight: w.inFlight, Tool: "redline", Figure: cost, Unit: "µs CPU", PerSecond: rate})
	return nil
}

// curve is a number of points with a name for its axis, and the form of the formula that is fitted to them: a + b·n if it is linear, else a·n^b.
type curve struct {
	name, title string
	linear      bool
	from        float64 // points of a smaller n are not fitted
	points      []point
}

// fit returns the formula with the smallest squared error: of the values, or of their logarithms.
func (c curve) fit() (a, b float64) {
	var k, x, y, xx, xy float64
	for _, p := range c.points {
		if p.n < c.from {
			continue
		}
		u, v := p.n, p.micros
		if !c.linear {
			u, v = math.Log(u), math.Log(v)
		}
		k, x, y, xx, xy = k+1, x+u, y+v, xx+u*u, xy+u*v
	}
	b = (k*xy - x*y) / (k*xx - x*x)
	if a = (y - b*x) / k; !c.linear {
		a = math.Exp(a)
	}
	return a, b
}

// at is the value of the fitted formula.
func (c curve) at(n float64) float64 {
	a, b := c.fit()
	if c.linear {
		return a + b*n
	}
	return a * math.Pow(n, b)
}

// formula is the fitted formula in words.
func (c curve) formula() string {
	a, b := c.fit()
	if c.linear {
		return fmt.Sprintf("%.2f µs + %.2f µs per 1,000 %s, from %g on", a, 1000*b, c.name, c.from)
	}
	return fmt.Sprintf("%.2f µs · %s^%.3f", a, c.name, b)
}

// drawCurves draws the curves side by side, with the number of connections or cores on a logarithmic axis.
func drawCurves(curves []curve) string {
	const width, height, left, bottom, top = 420.0, 260.0, 52.0, 44.0, 48.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">`+"\n", width*float64(len(curves)), height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, c := range curves {
		highest, most := 0.0, c.points[len(c.points)-1].n
		for _, p := range c.points {
			highest = max(highest, p.micros)
		}
		highest = math.Ceil(highest*1.15/2) * 2
		x := func(n float64) float64 {
			return left + (width-left-20)*math.Log(n)/math.Log(most)
		}
		y := func(v float64) float64 { return height - bottom - (height-bottom-top)*v/highest }
		fmt.Fprintf(&b, `<g transform="translate(%g 0)">`+"\n", width*float64(i))
		fmt.Fprintf(&b, `<text x="%g" y="18" font-size="12" font-weight="bold">%s</text>`+"\n", left, c.title)
		fmt.Fprintf(&b, `<text x="%g" y="34" fill="#555">fit: %s</text>`+"\n", left, c.formula())
		for v := 0.0; v <= highest; v += highest / 4 {
			fmt.Fprintf(&b, `<path d="M%g %gH%g" stroke="#ddd"/><text x="%g" y="%g" text-anchor="end">%.3g µs</text>`+"\n", left, y(v), width-20, left-4, y(v)+4, v)
		}
		for _, p := range c.points {
			fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%g</text>`+"\n", x(p.n), height-bottom+16, p.n)
		}
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", (left+width-20)/2, height-8, c.name)
		var measured, fitted []string
		for _, p := range c.points {
			measured = append(measured, fmt.Sprintf("%.1f,%.1f", x(p.n), y(p.micros)))
			if p.n >= c.from {
				fitted = append(fitted, fmt.Sprintf("%.1f,%.1f", x(p.n), y(c.at(p.n))))
			}
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="#1f5fbf"/>`+"\n", x(p.n), y(p.micros))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#1f5fbf" stroke-width="1.5"/>`+"\n", strings.Join(measured, " "))
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#c55" stroke-dasharray="4 3"/>`+"\n</g>\n", strings.Join(fitted, " "))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
