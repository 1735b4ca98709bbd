package unitab

import "unicode/utf8"

// Grapheme break properties, in the order of the file.
const (
	gOther = iota
	gCR
	gLF
	gControl
	gExtend
	gZWJ
	gRegional
	gPrepend
	gSpacing
	gL
	gV
	gT
	gLV
	gLVT
	gPicture
)

// Grapheme is the length in bytes of the user-perceived character that a text begins with.
func (t *Tables) Grapheme(text string) int {
	r, i := utf8.DecodeRuneInString(text)
	last := t.grapheme.at(r)
	picture := last == gPicture // a picture, then only Extend and ZWJ so far
	flags := 0                  // regional indicators in a row
	if last == gRegional {
		flags = 1
	}
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		next := t.grapheme.at(r)
		if t.breaks(last, next, picture, flags) {
			return i
		}
		switch next {
		case gPicture:
			picture = true
		case gExtend, gZWJ:
		default:
			picture = false
		}
		flags = 0
		if next == gRegional && last != gRegional {
			flags = 1
		}
		last = next
		i += size
	}
	return i
}

// breaks reports whether a grapheme ends between two characters.
func (t *Tables) breaks(last, next uint8, picture bool, flags int) bool {
	switch {
	case last == gCR && next == gLF:
		return false
	case last == gCR, last == gLF, last == gControl, next == gCR, next == gLF, next == gControl:
		return true
	case last == gL && (next == gL || next == gV || next == gLV || next == gLVT),
		(last == gLV || last == gV) && (next == gV || next == gT),
		(last == gLVT || last == gT) && next == gT:
		return false
	case next == gExtend, next == gZWJ, next == gSpacing, last == gPrepend:
		return false
	case last == gZWJ && next == gPicture && picture:
		return false
	case last == gRegional && next == gRegional:
		return flags != 1
	}
	return true
}
