// Package modelconfig reads the configuration of a Triton model, changes the settings that a search varies, and writes it as a
// config.pbtxt. A Config is a value: With returns a changed copy.
package modelconfig

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/unit"
)

// The settings that With changes.
const (
	Instances  = "instances"   // count of every instance group
	MaxBatch   = "max_batch"   // max_batch_size
	QueueDelay = "queue_delay" // max_queue_delay_microseconds of the dynamic batcher; off is no dynamic batcher
	Preferred  = "preferred"   // preferred_batch_size of the dynamic batcher: sizes with + between them, or none
)

// Off is the queue delay of a model without a dynamic batcher. None means no preferred batch sizes.
const (
	Off  = "off"
	None = "none"
)

// Config is the configuration of a model.
type Config struct {
	pb      *kserve.ModelConfig
	unknown []unknown
}

// Parse reads protobuf's JSON of a configuration. Fields that this program does not know are kept.
func Parse(json []byte) (Config, error) {
	c := Config{pb: &kserve.ModelConfig{}}
	err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(json, c.pb)
	if err == nil {
		c.unknown, err = readUnknown(c.pb.ProtoReflect().Descriptor(), json)
	}
	if err != nil {
		return c, fmt.Errorf("read the model's configuration: %w", err)
	}
	return c, nil
}

// JSON is the configuration for a load request.
func (c Config) JSON() ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(c.pb)
	if err != nil {
		return nil, err
	}
	return addUnknown(c.pb.ProtoReflect().Descriptor(), text, c.unknown)
}

// Equal tells whether two configurations are the same.
func (c Config) Equal(other Config) bool {
	return proto.Equal(c.pb, other.pb) && reflect.DeepEqual(c.unknown, other.unknown)
}

// Name is the name of the model.
func (c Config) Name() string { return c.pb.GetName() }

// MaxBatch is the largest batch; 0 for a model that does not batch.
func (c Config) MaxBatch() int { return int(c.pb.GetMaxBatchSize()) }

// Dynamic tells whether the model has a dynamic batcher; Sequence whether it keeps sequences, so that it cannot have one.
func (c Config) Dynamic() bool { return c.pb.GetDynamicBatching() != nil }

// Sequence tells whether the model keeps sequences.
func (c Config) Sequence() bool { return c.pb.GetSequenceBatching() != nil }

// Steps are the models that an ensemble consists of, each one once; nil for another model.
func (c Config) Steps() []string {
	var out []string
	for _, s := range c.pb.GetEnsembleScheduling().GetStep() {
		if !slices.Contains(out, s.GetModelName()) {
			out = append(out, s.GetModelName())
		}
	}
	return out
}

// OnGPU tells whether instances run on GPUs.
func (c Config) OnGPU() bool {
	return slices.ContainsFunc(c.pb.GetInstanceGroup(), func(g *kserve.ModelInstanceGroup) bool { return g.GetKind() == kserve.ModelInstanceGroup_KIND_GPU })
}

// Groups describes the instance groups as Model Analyzer does: 2:CPU.
func (c Config) Groups() string {
	var out []string
	for _, g := range c.pb.GetInstanceGroup() {
		out = append(out, fmt.Sprintf("%d:%s", g.GetCount(), strings.TrimPrefix(g.GetKind().String(), "KIND_")))
	}
	return strings.Join(out, "/")
}

// Value is the present value of a setting. Instance groups with different counts have several counts with + between them.
func (c Config) Value(setting string) string {
	dyn := c.pb.GetDynamicBatching()
	switch setting {
	case Instances:
		var list []string
		for _, g := range c.pb.GetInstanceGroup() {
			list = append(list, strconv.Itoa(int(max(1, g.GetCount()))))
		}
		if list = slices.Compact(list); len(list) == 0 {
			return "1"
		}
		return strings.Join(list, "+")
	case MaxBatch:
		return strconv.Itoa(c.MaxBatch())
	case QueueDelay:
		if dyn == nil {
			return Off
		}
		return unit.Short(time.Duration(min(dyn.GetMaxQueueDelayMicroseconds(), math.MaxInt64/1000)) * time.Microsecond)
	case Preferred:
		var list []string
		for _, n := range dyn.GetPreferredBatchSize() {
			list = append(list, strconv.Itoa(int(n)))
		}
		if len(list) == 0 {
			return None
		}
		return strings.Join(list, "+")
	}
	return ""
}

// Can says why the model does not have a setting; nil if it has.
func (c Config) Can(setting string) error {
	batches := setting == MaxBatch || setting == QueueDelay || setting == Preferred
	switch {
	case c.Steps() != nil:
		return fmt.Errorf("%q is an ensemble: its settings are those of its steps", c.Name())
	case batches && c.MaxBatch() == 0:
		return fmt.Errorf("the model %q does not batch: its max_batch_size is 0", c.Name())
	case setting != MaxBatch && batches && c.Sequence():
		return fmt.Errorf("the model %q keeps sequences: it cannot have a dynamic batcher", c.Name())
	}
	return nil
}

// With is the configuration with one setting changed. The settings of a candidate are applied in the order of Settings, because
// preferred batch sizes depend on the largest batch.
func (c Config) With(setting, value string) (Config, error) {
	if err := c.Can(setting); err != nil {
		return c, err
	}
	next := Config{pb: proto.CloneOf(c.pb), unknown: c.unknown}
	var err error
	switch setting {
	case Instances:
		err = next.setInstances(value)
	case MaxBatch:
		err = next.setMaxBatch(value)
	case QueueDelay:
		err = next.setQueueDelay(value)
	case Preferred:
		err = next.setPreferred(value)
	default:
		err = fmt.Errorf("unknown setting %q", setting)
	}
	return next, err
}

// Settings are all settings, in the order in which they are applied.
func Settings() []string { return []string{Instances, MaxBatch, QueueDelay, Preferred} }

func count(setting, value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is a whole number from 1, not %q", setting, value)
	}
	return int32(n), nil
}

func (c Config) setInstances(value string) error {
	n, err := count(Instances, value)
	if err != nil {
		return err
	}
	if len(c.pb.GetInstanceGroup()) == 0 {
		c.pb.InstanceGroup = []*kserve.ModelInstanceGroup{{}}
	}
	for _, g := range c.pb.GetInstanceGroup() {
		g.Count = n
	}
	return nil
}

// setMaxBatch also adds a dynamic batcher, without which the server makes no batches of single requests. Preferred sizes that
// the server derived from the largest batch follow it.
func (c Config) setMaxBatch(value string) error {
	n, err := count(MaxBatch, value)
	if err != nil {
		return err
	}
	old := c.pb.GetMaxBatchSize()
	c.pb.MaxBatchSize = n
	if c.Sequence() {
		return nil
	}
	if c.pb.GetDynamicBatching() == nil {
		c.pb.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{}}
	}
	dyn := c.pb.GetDynamicBatching()
	if sizes := dyn.GetPreferredBatchSize(); len(sizes) == 1 && sizes[0] == old {
		dyn.PreferredBatchSize = nil
	}
	dyn.PreferredBatchSize = slices.DeleteFunc(dyn.GetPreferredBatchSize(), func(size int32) bool { return size > n })
	return nil
}

func (c Config) setQueueDelay(value string) error {
	if value == Off {
		if c.Dynamic() {
			c.pb.SchedulingChoice = nil
		}
		return nil
	}
	d, err := unit.Time(value, 0)
	if err != nil {
		return fmt.Errorf("%s is a time such as 100us, or off, not %q", QueueDelay, value)
	}
	if !c.Dynamic() {
		c.pb.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{}}
	}
	c.pb.GetDynamicBatching().MaxQueueDelayMicroseconds = uint64(d.Microseconds())
	return nil
}

func (c Config) setPreferred(value string) error {
	sizes, err := PreferredSizes(value)
	if err != nil {
		return err
	}
	if most := slices.Max(append(sizes, 0)); int(most) > c.MaxBatch() {
		return fmt.Errorf("the preferred batch size %d is above the largest batch of %d", most, c.MaxBatch())
	}
	if !c.Dynamic() {
		c.pb.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{}}
	}
	c.pb.GetDynamicBatching().PreferredBatchSize = sizes
	return nil
}

// PreferredSizes reads the value of Preferred.
func PreferredSizes(value string) (sizes []int32, err error) {
	if value == None {
		return nil, nil
	}
	for part := range strings.SplitSeq(value, "+") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s is batch sizes such as 4 or 4+8, or none, not %q", Preferred, value)
		}
		sizes = append(sizes, int32(n))
	}
	return sizes, nil
}
