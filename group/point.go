package group

import (
	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
)

// Points as package edwards25519 does not offer them: of a table whose points are affine an
// addition takes seven multiplications, of its points nine. What is added is public: nothing
// here takes the same time for all points.

// affine is a point as one that others are added to asks for it.
type affine struct {
	plus, minus field.Element // y+x, y-x
	product     field.Element // 2dxy
}

// twiceD is 2d of the curve, whose d is -121665/121666.
var twiceD = func() *field.Element {
	one := new(field.Element).One()
	d := new(field.Element).Invert(new(field.Element).Mult32(one, 121666))
	d.Negate(d.Mult32(d, 121665))
	return d.Add(d, d)
}()

// affineOf returns the same points.
func affineOf(points []edwards25519.Point) []affine {
	inverses := make([]field.Element, len(points))
	for i := range points {
		_, _, z, _ := points[i].ExtendedCoordinates()
		inverses[i].Set(z)
	}
	invert(inverses)
	all := make([]affine, len(points))
	for i := range points {
		x, y, _, _ := points[i].ExtendedCoordinates()
		x.Multiply(x, &inverses[i])
		y.Multiply(y, &inverses[i])
		a := &all[i]
		a.plus.Add(y, x)
		a.minus.Subtract(y, x)
		a.product.Multiply(x, y)
		a.product.Multiply(&a.product, twiceD)
	}
	return all
}

// invert makes of each element its inverse, all by one inversion: 1/z of one is that of the product of
// all, times the others (Montgomery, Math. Comp. 48, 1987). If one is 0, all will be.
func invert(all []field.Element) {
	before, product := make([]field.Element, len(all)), new(field.Element).One()
	for i := range all {
		before[i].Set(product)
		product.Multiply(product, &all[i])
	}
	rest := product.Invert(product)
	for i := len(all) - 1; i >= 0; i-- {
		own := before[i].Multiply(&before[i], rest)
		rest.Multiply(rest, &all[i])
		all[i].Set(own)
	}
}

// extended is a point (x/z, y/z), with t = xy/z.
type extended struct{ x, y, z, t field.Element }

func identityPoint() (p extended) {
	p.y.One()
	p.z.One()
	return p
}

// add adds q, any point of the curve: the formulas are complete (Hisil, Wong, Carter, Dawson,
// Twisted Edwards Curves Revisited, 2008, section 3.1, with a = -1).
func (p *extended) add(q *affine) {
	var c field.Element
	p.addParts(&q.plus, &q.minus, c.Multiply(&p.t, &q.product))
}

// subtract adds the negative of q, whose x is -x.
func (p *extended) subtract(q *affine) {
	var c field.Element
	c.Multiply(&p.t, &q.product)
	p.addParts(&q.minus, &q.plus, c.Negate(&c))
}

// addParts adds the point whose y+x, y-x and t·2dxy are given.
func (p *extended) addParts(plus, minus, c *field.Element) {
	var a, b, d, e, f, g, h field.Element
	a.Multiply(a.Subtract(&p.y, &p.x), minus)
	b.Multiply(b.Add(&p.y, &p.x), plus)
	d.Add(&p.z, &p.z)
	e.Subtract(&b, &a)
	f.Subtract(&d, c)
	g.Add(&d, c)
	h.Add(&b, &a)
	p.x.Multiply(&e, &f)
	p.y.Multiply(&g, &h)
	p.z.Multiply(&f, &g)
	p.t.Multiply(&e, &h)
}

// encodings returns the encodings of RFC 8032, 5.1.2.
func encodings(points []extended) [][32]byte {
	inverses := make([]field.Element, len(points))
	for i := range points {
		inverses[i].Set(&points[i].z)
	}
	invert(inverses)
	all := make([][32]byte, len(points))
	for i := range points {
		var x, y field.Element
		x.Multiply(&points[i].x, &inverses[i])
		y.Multiply(&points[i].y, &inverses[i])
		copy(all[i][:], y.Bytes())
		all[i][31] |= byte(x.IsNegative() << 7)
	}
	return all
}
