package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"math"
	"math/rand/v2"
)

// Audio makes a WAV of PCM: a chord under noise.
func Audio(r *rand.Rand, seconds float64, rate, channels, depth int) ([]byte, error) {
	switch depth {
	case 8, 16, 24, 32:
	default:
		return nil, fmt.Errorf("audio with %d bits per sample cannot be generated; choose 8, 16, 24 or 32", depth)
	}
	frames := max(int(seconds*float64(rate)), 1)
	align := channels * depth / 8
	size := frames * align
	if size > MaxFile {
		return nil, fmt.Errorf("audio of %v s has %d bytes; the limit is %d", seconds, size, MaxFile)
	}
	const pcm = 1
	b := make([]byte, 0, 44+size)
	b = append(append(b, "RIFF"...), words(36+size)...)
	b = chunk(append(b, "WAVE"...), "fmt ", words(pcm|channels<<16, rate, rate*align, align|depth<<16))
	b = append(append(b, "data"...), words(size)...)
	tone := 200 + 400*r.Float64()
	for i := range frames {
		v := 0.5*math.Sin(2*math.Pi*tone*float64(i)/float64(rate)) + 0.3*(2*r.Float64()-1)
		for range channels {
			b = appendPCM(b, v, depth)
		}
	}
	return b, nil
}

// appendPCM adds one sample between -1 and 1.
func appendPCM(b []byte, v float64, depth int) []byte {
	n := int32(v * (1<<31 - 1))
	switch depth {
	case 8:
		return append(b, byte(n>>24)+128) // 8 bits are unsigned
	case 16:
		return append(b, byte(n>>16), byte(n>>24))
	case 24:
		return append(b, byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return binary.LittleEndian.AppendUint32(b, uint32(n))
}

// Video makes an AVI of JPEG pictures, which needs only the JPEG codec.
func Video(r *rand.Rand, seconds float64, fps, width, height int) ([]byte, error) {
	frames := max(int(seconds*float64(fps)), 1)
	if frames > 10_000 {
		return nil, fmt.Errorf("a video of %d pictures is too long to be sent; make it shorter, or lower its rate", frames)
	}
	var movie, index []byte
	biggest := 0
	for range frames {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, picture(r, width, height), &jpeg.Options{Quality: 60}); err != nil {
			return nil, fmt.Errorf("make a video of %d×%d: %w", width, height, err)
		}
		const keyFrame = 0x10
		index = append(append(index, "00dc"...), words(keyFrame, 4+len(movie), b.Len())...)
		biggest = max(biggest, b.Len())
		movie = chunk(movie, "00dc", b.Bytes())
		if len(movie) > MaxFile {
			return nil, fmt.Errorf("a video of more than %d bytes is too large to be sent; make it smaller", MaxFile)
		}
	}
	var header []byte
	header = chunk(header, "avih", words(1_000_000/fps, biggest*fps, 0, 0x10, frames, 0, 1, biggest, width, height, 0, 0, 0, 0))
	stream := append([]byte("vidsMJPG"), words(0, 0, 0, 1, fps, 0, frames, biggest, -1, 0, 0, width|height<<16)...)
	format := append(words(40, width, height, 1|24<<16), "MJPG"...)
	format = append(format, words(width*height*3, 0, 0, 0, 0)...)
	header = chunk(header, "LIST", chunk(chunk([]byte("strl"), "strh", stream), "strf", format))
	body := chunk([]byte("AVI "), "LIST", append([]byte("hdrl"), header...))
	body = chunk(body, "LIST", append([]byte("movi"), movie...))
	body = chunk(body, "idx1", index)
	return chunk(nil, "RIFF", body), nil
}

// chunk adds a RIFF chunk.
func chunk(b []byte, name string, data []byte) []byte {
	b = append(b, name...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	if len(data)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

func words(list ...int) []byte {
	var b []byte
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}
