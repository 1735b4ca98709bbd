package parquet

import (
	"encoding/binary"
	"math/bits"
)

// The sizes of packed differences: a block has one smallest difference, and four parts with a width each.
const (
	blockValues = 128
	blockParts  = 4
	partValues  = blockValues / blockParts
)

// delta packs numbers as differences, block by block as they come.
type delta struct {
	first, last int64
	block       [blockValues]int64 // differences that wait for their block to be full
	waiting     int
	blocks      []byte
	total       int
}

func (d *delta) add(v int64, width int) {
	if width == 32 {
		v = int64(int32(v))
	}
	d.total++
	if d.total == 1 {
		d.first, d.last = v, v
		return
	}
	diff := v - d.last // may go round, as the reader's sum does
	if width == 32 {
		diff = int64(int32(diff))
	}
	d.block[d.waiting], d.last = diff, v
	if d.waiting++; d.waiting == blockValues {
		d.pack(width)
	}
}

// pack ends a block. What is missing to a full part is filled up with its smallest difference.
func (d *delta) pack(width int) {
	least := d.block[0]
	for _, v := range d.block[1:d.waiting] {
		least = min(least, v)
	}
	for i := d.waiting; i < blockValues; i++ {
		d.block[i] = least
	}
	var rest [blockValues]uint64
	var widths [blockParts]byte
	for i, v := range d.block {
		r := uint64(v - least)
		if width == 32 {
			r = uint64(uint32(r))
		}
		rest[i] = r
		widths[i/partValues] = max(widths[i/partValues], byte(bits.Len64(r)))
	}
	d.blocks = binary.AppendVarint(d.blocks, least)
	d.blocks = append(d.blocks, widths[:]...)
	for i := 0; i*partValues < d.waiting; i++ {
		d.blocks = appendPacked(d.blocks, rest[i*partValues:(i+1)*partValues], int(widths[i]))
	}
	d.waiting = 0
}

// encode appends all that was added, and begins anew.
func (d *delta) encode(to []byte, width int) []byte {
	if d.waiting > 0 {
		d.pack(width)
	}
	to = binary.AppendUvarint(to, blockValues)
	to = binary.AppendUvarint(to, blockParts)
	to = binary.AppendUvarint(to, uint64(d.total))
	to = binary.AppendVarint(to, d.first)
	to = append(to, d.blocks...)
	d.blocks, d.total = d.blocks[:0], 0
	return to
}

// appendPacked writes values of so many bits one after the other, lowest bit first.
func appendPacked[T uint32 | uint64](to []byte, values []T, width int) []byte {
	var low uint64
	used := 0
	for _, v := range values {
		low |= uint64(v) << used
		if used+width < 64 {
			used += width
			continue
		}
		to = binary.LittleEndian.AppendUint64(to, low)
		low = uint64(v) >> (64 - used)
		used += width - 64
	}
	for ; used > 0; used -= 8 {
		to = append(to, byte(low))
		low >>= 8
	}
	return to
}

// group is how many values are packed together among places.
const group = 8

// appendIndices writes places in a list: their width, then runs of the same one and packed groups of eight.
func appendIndices(to []byte, index []uint32, entries int) []byte {
	width := max(1, bits.Len(uint(max(entries, 1)-1)))
	to = append(to, byte(width))
	from := 0 // what is not written yet
	for i := 0; i < len(index); {
		run := 1
		for i+run < len(index) && index[i+run] == index[i] {
			run++
		}
		fill := (group - (i-from)%group) % group // packed values come in whole groups
		if run < fill+group {
			i += run
			continue
		}
		i += fill
		to = appendGroups(to, index[from:i], width)
		run -= fill
		to = binary.AppendUvarint(to, uint64(run)<<1)
		for v, n := index[i], width; n > 0; n -= 8 {
			to = append(to, byte(v))
			v >>= 8
		}
		i += run
		from = i
	}
	return appendGroups(to, index[from:], width)
}

// appendGroups packs values in groups of eight; the last may be shorter than that, and is filled up with zeros.
func appendGroups(to []byte, values []uint32, width int) []byte {
	if len(values) == 0 {
		return to
	}
	groups := (len(values) + group - 1) / group
	to = binary.AppendUvarint(to, uint64(groups)<<1|1)
	whole := len(values) / group * group
	to = appendPacked(to, values[:whole], width)
	if whole < len(values) {
		var last [group]uint32
		copy(last[:], values[whole:])
		to = appendPacked(to, last[:], width)
	}
	return to
}
