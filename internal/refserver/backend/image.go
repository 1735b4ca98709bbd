package backend

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	_ "image/gif"  // so that images of this form are understood
	_ "image/jpeg" // and of this
	_ "image/png"  // and of this
	"math"
	"strings"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// classifier replaces a network that classifies: the scores add up to one, and the winning class depends only on the input.
func classifier(cfg *kserve.ModelConfig) func(*Job) {
	out := cfg.GetOutput()[0]
	classes := 1
	for _, d := range out.GetDims() {
		classes *= int(max(d, 1))
	}
	return func(j *Job) {
		in := j.Input(cfg.GetInput()[0].GetName())
		rows := max(j.Batch, 1)
		width := len(in.Data) / rows
		var data []byte
		for r := range rows {
			data = appendScores(data, int(crc32.ChecksumIEEE(in.Data[r*width:(r+1)*width])%uint32(classes)), classes)
		}
		j.Send(shaped(j.Request, out.GetName(), tensor.FP32, data, out.GetDims()...))
	}
}

// appendScores gives the winner a score of one half, the next class half of the rest, and so on.
func appendScores(b []byte, winner, classes int) []byte {
	for k := range classes {
		behind := (k - winner + classes) % classes
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(math.Exp2(-float64(behind+1)))))
	}
	return b
}

// decodeImage turns files of images into pixels between -1 and 1, of the height, width and channels that its output has.
func decodeImage(cfg *kserve.ModelConfig) func(*Job) {
	out := cfg.GetOutput()[0]
	return func(j *Job) {
		var data []byte
		var err error
		for _, file := range texts(j.Input(cfg.GetInput()[0].GetName())) {
			if data, err = appendPixels(data, file, int(out.GetDims()[0]), int(out.GetDims()[1])); err != nil {
				break
			}
		}
		if err != nil {
			j.Fail(infer.Errorf(infer.InvalidArg, "the image cannot be read: %v", err))
			return
		}
		j.Send(shaped(j.Request, out.GetName(), tensor.FP32, data, out.GetDims()...))
	}
}

func appendPixels(b []byte, file string, height, width int) ([]byte, error) {
	pic, _, err := image.Decode(strings.NewReader(file))
	if err != nil {
		return b, err
	}
	box := pic.Bounds()
	for y := range height {
		for x := range width {
			r, g, bl, _ := pic.At(box.Min.X+x*box.Dx()/width, box.Min.Y+y*box.Dy()/height).RGBA()
			for _, v := range []uint32{r, g, bl} {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)/32767.5-1))
			}
		}
	}
	return b, nil
}
