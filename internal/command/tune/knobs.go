package tune

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service/kserve/modelconfig"
	"github.com/redline-bench/redline/internal/tune"
)

// The settings that the client chooses.
const (
	knobBatch    = "batch"
	knobShape    = "shape"
	knobProtocol = "protocol"
	knobShared   = "shared-memory"
)

func clientKnobs() []string { return []string{knobBatch, knobShape, knobProtocol, knobShared} }

// part is who applies a knob.
type part int

const (
	ofServer part = iota
	ofClient
	ofCommand
)

// knob is one setting that is varied.
type knob struct {
	tune.Knob
	part
	step    string // the model that it is about; empty for all models in scope
	setting string // without the name of the step
	present string // the value that the server or the client has now; empty if it is not known
}

// space is what is varied.
type space struct {
	knobs   []knob
	remarks []string
}

func (s *space) remark(format string, args ...any) {
	s.remarks = append(s.remarks, fmt.Sprintf(format, args...))
}

// settle makes the space of the search out of --vary, or out of the server's configuration.
func (s *session) settle() error {
	s.space = &space{}
	dropped := []string{}
	for _, k := range s.given {
		if k.part == ofServer && s.control == nil {
			dropped = append(dropped, k.Name)
			continue
		}
		if k.part == ofServer {
			var err error
			if k.present, err = s.control.value(k.step, k.setting); err != nil {
				return fmt.Errorf("--vary %s: %w", k.Name, err)
			}
		}
		s.space.knobs = append(s.space.knobs, k)
	}
	if s.control == nil && s.opts.apply == "" && s.noControl != "" {
		s.space.remark("only what the client chooses is varied: %s", s.noControl)
	}
	if len(dropped) > 0 {
		s.space.remark("not varied: %s", strings.Join(dropped, ", "))
	}
	if len(s.space.knobs) == 0 && len(dropped) > 0 {
		return fmt.Errorf("nothing is left to vary: %s", s.noControl)
	}
	if len(s.opts.varies) == 0 {
		s.usual()
	}
	switch {
	case len(s.space.knobs) > 0:
	case s.what == ofLLM || s.opts.apply != "":
		return errors.New("nothing to vary: give --apply and --vary, such as --apply 'restart.sh {max_num_seqs}' --vary max_num_seqs=64..512")
	default:
		return errors.New("nothing to vary: give --vary, such as --vary batch=1,2,4..32")
	}
	return nil
}

// readKnobs reads the values of --vary. Nothing was sent yet.
func (s *session) readKnobs() error {
	for i := range s.opts.varies {
		k, err := s.knob(&s.opts.varies[i])
		if err != nil {
			return err
		}
		s.given = append(s.given, k)
	}
	return nil
}

// knob reads one --vary.
func (s *session) knob(v *tune.Vary) (knob, error) {
	k := knob{setting: v.Name}
	if step, setting, ok := cutSetting(v.Name); ok {
		k.step, k.setting = step, setting
	}
	form := tune.Word
	switch {
	case s.opts.apply != "" && strings.Contains(s.opts.apply, "{"+v.Name+"}"):
		k.part = ofCommand
	case slices.Contains(modelconfig.Settings(), k.setting):
		k.part = ofServer
		form = map[string]tune.Form{modelconfig.QueueDelay: tune.Time, modelconfig.Preferred: tune.Word}[k.setting]
	case k.setting == knobBatch && len(s.together) > 0:
		return k, fmt.Errorf("--vary %w", errNotTogether)
	case slices.Contains(clientKnobs(), k.setting) && s.what == ofProfile:
		k.part = ofClient
		if k.setting == knobBatch {
			form = tune.Whole
		}
	case slices.Contains(clientKnobs(), k.setting):
		return k, fmt.Errorf("--vary %s is for 'redline tune profile'; with llm, use --apply", v.Name)
	case s.opts.apply != "":
		return k, fmt.Errorf("--vary %s: --apply does not contain {%s}", v.Name, v.Name)
	default:
		return k, fmt.Errorf("--vary %s: unknown knob; use %s, %s, or --apply with {%s}", v.Name,
			strings.Join(modelconfig.Settings(), ", "), strings.Join(clientKnobs(), ", "), v.Name)
	}
	values, err := v.Values(form)
	if err != nil {
		return k, fmt.Errorf("--vary %w", err)
	}
	k.Knob = values
	for _, value := range k.Values {
		if err := s.checkValue(&k, value); err != nil {
			return k, fmt.Errorf("--vary %w", v.Fault(value, err.Error()))
		}
	}
	if k.part == ofClient {
		k.present = s.presentOfClient(&k)
	}
	return k, nil
}

// cutSetting splits the name of a knob that is about one model, such as detect.instances.
func cutSetting(name string) (model, setting string, ok bool) {
	at := strings.LastIndex(name, ".")
	if at < 0 || !slices.Contains(modelconfig.Settings(), name[at+1:]) {
		return "", name, false
	}
	return name[:at], name[at+1:], true
}

// checkValue says why a knob cannot have a value, as far as that is known before anything is sent.
func (s *session) checkValue(k *knob, value string) error {
	switch {
	case k.part == ofServer && k.setting == modelconfig.Preferred:
		_, err := modelconfig.PreferredSizes(value)
		return err
	case k.part != ofClient:
		return nil
	case k.setting == knobShared:
		return oneOf(value, string(plan.NoSharedMemory), string(plan.SystemSharedMemory), string(plan.CUDASharedMemory))
	case k.setting == knobProtocol:
		pl := s.base.Plan()
		word, port, _ := strings.Cut(value, ":")
		if err := oneOf(word, string(plan.HTTP), string(plan.GRPC)); err != nil {
			return err
		}
		if word != string(pl.Target.Protocol) && port == "" && portOf(pl.Target.URL) != "" {
			return fmt.Errorf("write the port of %s, such as %s:8001, because -u has one", word, word)
		}
	}
	_, err := s.traffic(s.argumentsOf(k, value))
	if errors.As(err, new(command.NativeError)) {
		return nil // it is known when the candidate is measured
	}
	return err
}

func oneOf(value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("unknown value %q; use %s", value, strings.Join(words, ", "))
}

// presentOfClient is what the command line chooses; empty for a shape that it does not choose.
func (s *session) presentOfClient(k *knob) string {
	pl := s.base.Plan()
	switch k.setting {
	case knobBatch:
		return strconv.Itoa(pl.Input.Batch)
	case knobShared:
		return cmp.Or(string(pl.Input.SharedMemory), string(plan.NoSharedMemory))
	case knobProtocol:
		for _, v := range k.Values {
			if word, port, _ := strings.Cut(v, ":"); word == string(pl.Target.Protocol) && (port == "" || port == portOf(pl.Target.URL)) {
				return v
			}
		}
		return string(pl.Target.Protocol)
	case knobShape:
		var list []string
		for _, input := range slices.Sorted(maps.Keys(pl.Input.Shapes)) {
			sizes := convert.All(pl.Input.Shapes[input], func(n int64) string { return strconv.FormatInt(n, 10) })
			list = append(list, input+":"+strings.Join(sizes, "x"))
		}
		return strings.Join(list, "+")
	}
	return ""
}

// usual is the space of a search without --vary.
func (s *session) usual() {
	switch {
	case s.control != nil:
		s.usualOfServer()
	case s.opts.apply == "" && s.what == ofProfile && len(s.together) == 0:
		s.add(knob{Knob: tune.Knob{Name: knobBatch}, part: ofClient, setting: knobBatch, present: strconv.Itoa(s.base.Plan().Input.Batch)}, doubling(1, 32)...)
		s.space.remark("batch sizes of a request from 1 to 32 are varied; --vary chooses others")
	}
}

// add adds a knob to the space, if there is something to choose.
func (s *session) add(k knob, values ...string) {
	if len(values) > 1 {
		k.Values = values
		s.space.knobs = append(s.space.knobs, k)
	}
}

// usualOfServer varies the models: all alike, or each by itself if several get the load together.
func (s *session) usualOfServer() {
	scopes := []string{""}
	if len(s.together) > 0 {
		scopes = s.control.models
	}
	instances, why := s.usualInstances()
	for i, step := range scopes {
		setting := func(name string) (knob, bool) {
			present, err := s.control.value(step, name)
			k := knob{Knob: tune.Knob{Name: name}, part: ofServer, step: step, setting: name, present: present}
			if step != "" {
				k.Name = step + "." + name
			}
			return k, err == nil
		}
		if k, ok := setting(modelconfig.Instances); ok {
			s.add(k, instances...)
			if i == 0 {
				s.space.remark("%s", why)
			}
		}
		if k, ok := setting(modelconfig.MaxBatch); ok && !s.control.ensemble {
			if largest, _ := strconv.Atoi(k.present); largest > 1 {
				s.add(k, doubling(1, largest)...)
				s.space.remark("batches of at most %d, the max_batch_size of %s", largest, cmp.Or(step, s.control.models[0]))
			}
		}
		if k, ok := setting(modelconfig.QueueDelay); ok && len(s.together) == 0 {
			s.add(k, "0", "100us", "500us", "2ms")
		}
	}
}

// usualInstances are the numbers of instances that are varied without --vary, and why.
func (s *session) usualInstances() (values []string, why string) {
	most := 4
	why = "4 instances at most, because the server's cores are not known"
	switch {
	case slices.ContainsFunc(s.control.models, func(m string) bool { return s.control.own[m].OnGPU() }):
		why = "4 instances at most on each GPU"
	case plan.IsLocal(s.base.Plan().Target.URL):
		most = min(8, max(2, runtime.NumCPU()))
		why = fmt.Sprintf("%d instances at most, by the cores of this machine", most)
	}
	for n := 1; n <= most; n++ {
		values = append(values, strconv.Itoa(n))
	}
	return values, why
}

// doubling are the powers of 2 from low to high, and high.
func doubling(low, high int) []string {
	var out []string
	for n := low; n < high; n *= 2 {
		out = append(out, strconv.Itoa(n))
	}
	return append(out, strconv.Itoa(high))
}

// arguments are the options of the client's knobs of a candidate.
func (s *session) arguments(values []string) []string {
	var out []string
	for i := range s.space.knobs {
		if k := &s.space.knobs[i]; k.part == ofClient && values[i] != k.present {
			out = append(out, s.argumentsOf(k, values[i])...)
		}
	}
	return out
}

// argumentsOf are the options of one of the client's knobs.
func (s *session) argumentsOf(k *knob, v string) []string {
	switch k.setting {
	case knobBatch:
		return []string{"-b", v}
	case knobShared:
		return []string{"--shared-memory", v}
	case knobShape:
		var out []string
		for one := range strings.SplitSeq(v, "+") {
			at := strings.LastIndex(one, ":") + 1 // the name of an input may have an x
			out = append(out, "--shape", one[:at]+strings.ReplaceAll(one[at:], "x", ","))
		}
		return out
	}
	word, port, ok := strings.Cut(v, ":")
	out := []string{"-i", word}
	if ok {
		out = append(out, "-u", net.JoinHostPort(hostOf(s.base.Plan().Target.URL), port))
	}
	return out
}

// portOf is the port of an address; empty if it has none.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(withoutScheme(address))
	return port
}

// hostOf is the host of an address without its port.
func hostOf(address string) string {
	address = withoutScheme(address)
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

func withoutScheme(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		return rest
	}
	return address
}
