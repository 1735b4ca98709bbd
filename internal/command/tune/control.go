package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/modelconfig"
)

// control changes the configuration of the models of a server, and puts it back.
type control struct {
	svc    service.Service
	loader service.Controller
	// models are those whose settings are varied: the models, or the steps of ensembles. own are their configurations before
	// the search, loaded those that the server has now.
	models []string
	own    map[string]modelconfig.Config
	loaded map[string]modelconfig.Config
	// repository are the configurations in the server's repository before the search, as far as they are known.
	repository     map[string]modelconfig.Config
	ensemble       bool   // the model, or one of several, is an ensemble
	first, reading string // the first model that read asked for, and the last one
	// extra are the models that were not loaded before the search: they are unloaded at the end.
	extra []string
	// touched: the server may have loaded something.
	touched bool
	// applied are the configurations of the last candidate: as they were sent, and as the server has them. changes is called when they
	// change; it may be nil.
	applied map[string][]modelconfig.Config
	changes func()
}

// open connects to the server of a plan for questions and control. Loading a model may take long: there is no request timeout.
func open(pl *plan.Plan) (service.Service, error) {
	return kind.Open(pl.With(func(pl *plan.Plan) { pl.Target.Timeout = 0 }))
}

// noControlError means that the server does not load models with a configuration of the client.
type noControlError struct{ why string }

func (e noControlError) Error() string { return e.why }

// newControl is the control of a server. The error is a noControlError if a server of this kind has none.
func newControl(svc service.Service) (*control, error) {
	loader, ok := svc.(service.Controller)
	if !ok {
		return nil, noControlError{"a server of this kind has no model control"}
	}
	return &control{
		svc: svc, loader: loader,
		own: map[string]modelconfig.Config{}, loaded: map[string]modelconfig.Config{}, repository: map[string]modelconfig.Config{},
		applied: map[string][]modelconfig.Config{},
	}, nil
}

// read asks for the configurations that the server has of some models. keep is called before each change at the server. The error is a
// noControlError if the server does not load models for clients.
func (c *control) read(ctx context.Context, models []string, keep func()) error {
	c.changes = keep
	c.first = models[0]
	for _, model := range models {
		c.reading = model
		main, err := c.config(ctx, model)
		if err != nil {
			if main, err = c.loadExtra(ctx, model, err, keep); err != nil {
				return err
			}
		}
		tuned := []string{model}
		if steps := main.Steps(); steps != nil {
			tuned, c.ensemble = steps, true
		}
		for _, m := range tuned {
			if !slices.Contains(c.models, m) {
				c.models = append(c.models, m)
			}
		}
	}
	for _, m := range c.models {
		now, err := c.config(ctx, m)
		if err != nil {
			return err
		}
		c.own[m], c.loaded[m] = now, now
	}
	keep()
	for _, m := range c.models {
		if slices.Contains(c.extra, m) {
			continue
		}
		if err := c.readRepository(ctx, m, keep); err != nil {
			return err
		}
	}
	return nil
}

// loadExtra loads a model that the server does not have, as failed says, and returns its configuration.
func (c *control) loadExtra(ctx context.Context, model string, failed error, keep func()) (main modelconfig.Config, err error) {
	if e, ok := errors.AsType[*service.Error](failed); !ok || e.Class != record.Server {
		return main, failed
	}
	var before []service.ListedModel // empty if the server has no list: then no step is unloaded
	if lister, ok := c.svc.(service.Lister); ok {
		before, _ = lister.Models(ctx)
	}
	c.extra = append(c.extra, model)
	keep()
	touched := c.touched
	c.touched = true
	if err := c.loader.LoadModel(ctx, model, nil); err != nil {
		if e, ok := errors.AsType[*service.Error](err); !ok || e.Class != record.Server {
			return main, err // the server may have loaded it nevertheless
		}
		c.extra, c.touched = c.extra[:len(c.extra)-1], touched
		return main, failed
	}
	if main, err = c.config(ctx, model); err != nil {
		return main, err
	}
	for _, step := range main.Steps() {
		wasLoaded := slices.ContainsFunc(before, func(m service.ListedModel) bool { return m.Name == step && m.State == service.Ready })
		if len(before) > 0 && !wasLoaded && !slices.Contains(c.extra, step) {
			c.extra = append(c.extra, step)
		}
	}
	return main, nil
}

// readRepository loads a model as it is in the server's repository. This shows whether the server loads models for clients, and
// whether the model had been loaded with another configuration, which is then loaded again.
func (c *control) readRepository(ctx context.Context, model string, keep func()) error {
	touched := c.touched
	c.touched = true
	if err := c.loader.LoadModel(ctx, model, nil); err != nil {
		if ctx.Err() != nil || len(c.repository) > 0 {
			return err
		}
		c.touched = touched
		return noControlError{fmt.Sprintf("the server does not load models for clients: %s (Triton: --model-control-mode=explicit)", line(err))}
	}
	now, err := c.config(ctx, model)
	if err != nil {
		return err
	}
	c.repository[model] = now
	keep()
	if now.Equal(c.own[model]) {
		return nil
	}
	if err := c.load(ctx, model, c.own[model]); err != nil {
		return fmt.Errorf("the model %q had been loaded with another configuration than that of the repository, and does not load with it again: %w", model, err)
	}
	return nil
}

func (c *control) close() { _ = c.svc.Close() } // all that was asked has been answered

func (c *control) config(ctx context.Context, model string) (modelconfig.Config, error) {
	json, err := c.loader.ModelConfig(ctx, model)
	if err != nil {
		return modelconfig.Config{}, fmt.Errorf("read the configuration of model %q, which only Triton has: %w", model, err)
	}
	return modelconfig.Parse(json)
}

func (c *control) load(ctx context.Context, model string, config modelconfig.Config) error {
	json, err := config.JSON()
	if err != nil {
		return err
	}
	return c.loader.LoadModel(ctx, model, json)
}

// several tells whether each of several models has a configuration of its own.
func (c *control) several() bool { return c.ensemble || len(c.models) > 1 }

// scope are the models that a knob is about.
func (c *control) scope(step string) []string {
	if step == "" {
		return c.models
	}
	return []string{step}
}

// value is the present value of a setting. Models with different values have all of them with / between them.
func (c *control) value(step, setting string) (string, error) {
	var list []string
	for _, m := range c.scope(step) {
		if !slices.Contains(c.models, m) {
			switch {
			case !c.several():
				return "", fmt.Errorf("%q is not the model %q, which is not an ensemble", m, c.models[0])
			case c.reading != c.first:
				return "", fmt.Errorf("%q is none of the models that are tuned together: %s", m, strings.Join(c.models, ", "))
			}
			return "", fmt.Errorf("%q is not a step of the ensemble; its steps are %s", m, strings.Join(c.models, ", "))
		}
		if err := c.own[m].Can(setting); err != nil {
			return "", err
		}
		list = append(list, c.own[m].Value(setting))
	}
	return strings.Join(slices.Compact(list), "/"), nil
}

// wanted is the value that a candidate gives to a setting of a model: the present value is the model's own.
func (c *control) wanted(k *knob, value, model string) string {
	if value == k.present {
		return c.own[model].Value(k.setting)
	}
	return value
}

// configs are the configurations of a candidate.
func (c *control) configs(knobs []knob, values []string) (map[string]modelconfig.Config, error) {
	out := map[string]modelconfig.Config{}
	for _, m := range c.models {
		now := c.own[m]
		for _, setting := range modelconfig.Settings() {
			for i := range knobs {
				k := &knobs[i]
				if k.part != ofServer || k.setting != setting || !slices.Contains(c.scope(k.step), m) {
					continue
				}
				want := c.wanted(k, values[i], m)
				if want == now.Value(setting) {
					continue
				}
				var err error
				if now, err = now.With(setting, want); err != nil {
					return nil, err
				}
			}
		}
		out[m] = now
	}
	return out, nil
}

// apply loads the configurations of a candidate, and checks that the server has taken them.
func (c *control) apply(ctx context.Context, knobs []knob, values []string) error {
	want, err := c.configs(knobs, values)
	if err != nil {
		return err
	}
	for _, m := range c.models {
		if now, ok := c.loaded[m]; ok && now.Equal(want[m]) {
			continue
		}
		delete(c.loaded, m)
		c.note(m, want[m])
		if err := c.load(ctx, m, want[m]); err != nil {
			return fmt.Errorf("it does not load: %w", err)
		}
		got, err := c.config(ctx, m)
		if err != nil {
			return err
		}
		c.note(m, want[m], got)
		for i := range knobs {
			k := &knobs[i]
			if k.part != ofServer || !slices.Contains(c.scope(k.step), m) {
				continue
			}
			v := c.wanted(k, values[i], m)
			derived := k.setting == modelconfig.Preferred && v == modelconfig.None // Triton then prefers batches of max_batch_size
			if got.Value(k.setting) != v && !derived {
				return fmt.Errorf("the server did not take %s=%s: it has %s", k.Name, v, got.Value(k.setting))
			}
		}
		c.loaded[m] = want[m]
	}
	return nil
}

// note keeps the configuration of a candidate, so that it is known at the end.
func (c *control) note(model string, list ...modelconfig.Config) {
	c.applied[model] = list
	if c.changes != nil {
		c.changes()
	}
}

// isApplied tells whether a configuration is that of the last candidate. The server may have added the preferred batch sizes.
func (c *control) isApplied(model string, now modelconfig.Config) bool {
	plain, err := now.With(modelconfig.Preferred, modelconfig.None)
	return slices.ContainsFunc(c.applied[model], func(a modelconfig.Config) bool { return now.Equal(a) || err == nil && plain.Equal(a) })
}

// restore gives every model the configuration back that it had, and asks the server whether it has it. changed are the models whose
// configuration in the repository is not the one from before the search: they have that of the repository.
func (c *control) restore(ctx context.Context) (changed []string, err error) {
	var errs []error
	for _, m := range c.models {
		if _, known := c.own[m]; !known || slices.Contains(c.extra, m) {
			continue
		}
		other, err := c.restoreModel(ctx, m)
		if err != nil {
			errs = append(errs, fmt.Errorf("model %q: %w", m, err))
		}
		if other {
			changed = append(changed, m)
		}
	}
	for _, m := range c.extra {
		if err := c.unload(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("unload the model %q: %w", m, err))
		}
	}
	return changed, errors.Join(errs...)
}

// restoreModel loads a model from the server's repository. If that is not the configuration that it had, it had been loaded with
// another one, or the server still has that of the last candidate: Triton does not load a model again whose files have not changed. Then
// the configuration that it had is loaded. changed: the repository has another configuration than before the search, for example because
// the server was started again with another repository.
func (c *control) restoreModel(ctx context.Context, model string) (changed bool, err error) {
	own := c.own[model]
	if c.loader.LoadModel(ctx, model, nil) == nil {
		now, err := c.config(ctx, model)
		before, known := c.repository[model]
		switch {
		case err != nil:
			return false, err
		case now.Equal(own):
			return false, nil
		case known && !now.Equal(before) && !c.isApplied(model, now):
			return true, nil
		}
	}
	if err := c.load(ctx, model, own); err != nil {
		return false, err
	}
	now, err := c.config(ctx, model)
	if err == nil && !now.Equal(own) {
		err = errors.New("the server has another configuration")
	}
	return false, err
}

// unload unloads a model, unless the server has done so already: Triton unloads the steps of an ensemble with the ensemble.
func (c *control) unload(ctx context.Context, model string) error {
	_, err := c.config(ctx, model)
	if e, ok := errors.AsType[*service.Error](err); ok && e.Class == record.Server {
		return nil
	}
	return c.loader.UnloadModel(ctx, model)
}

// unloadAll unloads the models, so that the next candidate has new instances: Triton keeps instances if only their number changes, and those of
// a candidate that failed may be broken. The steps of an ensemble stay: the ensemble would be unloaded with them. Errors are
// ignored, because the models are loaded again next.
func (c *control) unloadAll(ctx context.Context) {
	for _, m := range c.models {
		if !c.ensemble {
			_ = c.unload(ctx, m)
		}
	}
}

// shape are the instance groups that the server has now, and its max_batch_size; 0 for several models.
func (c *control) shape() (groups string, maxBatch int) {
	var list []string
	for _, m := range c.models {
		if now, ok := c.loaded[m]; ok {
			list = append(list, now.Groups())
			maxBatch = now.MaxBatch()
		}
	}
	if len(c.models) > 1 {
		maxBatch = 0
	}
	return strings.Join(list, ","), maxBatch
}

// awaitServer waits until the server of a service answers.
func awaitServer(ctx context.Context, svc service.Service, limit time.Duration) error {
	lister, ok := svc.(service.Lister)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		_, err := lister.Identify(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// text are the configurations of a candidate for the result.
func (c *control) text(want map[string]modelconfig.Config) []result.TuneConfig {
	return convert.All(c.models, func(m string) result.TuneConfig {
		name := cleantext.Line(m)
		return result.TuneConfig{Model: name, Text: want[m].Text(), Diff: modelconfig.Diff(name+" (now)", c.own[m], name+" (best)", want[m])}
	})
}
