package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	conn "github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/modelconfig"
)

// control changes the configuration of the models of a server, and puts it back.
type control struct {
	svc    service.Service
	loader service.Controller
	// models are those whose settings are varied: the model, or the steps of an ensemble. own are their configurations before
	// the search, loaded those that the server has now.
	models []string
	own    map[string]modelconfig.Config
	loaded map[string]modelconfig.Config
	main   modelconfig.Config // of the model itself
	// extra is the model, if it was not loaded before the search: it is unloaded at the end.
	extra string
}

// open connects to the server of a plan for questions and control. Loading a model may take long: there is no request timeout.
func open(pl *plan.Plan) (service.Service, error) {
	return kind.Open(pl.With(func(pl *plan.Plan) { pl.Target.Timeout = 0 }))
}

// errNoControl means that the server does not load models with a configuration of the client.
type errNoControl struct{ why string }

func (e errNoControl) Error() string { return e.why }

// newControl reads the configuration that the server has. The error is an errNoControl where the server has no model control.
func newControl(ctx context.Context, pl *plan.Plan) (*control, error) {
	svc, err := open(pl)
	if err != nil {
		return nil, err
	}
	c, err := controlOf(svc)
	if err != nil {
		_ = svc.Close() // nothing was sent
		return nil, err
	}
	if err := c.read(ctx, pl.Target.Model); err != nil {
		defer c.close()
		if e, ok := errors.AsType[*service.Error](err); ok {
			e.Op = kserve.OpMetadata
			err = errors.New(conn.Advise(&pl.Target, "-i", e) + conn.ModelsThere(ctx, svc, &pl.Target, e))
		}
		return nil, err
	}
	return c, nil
}

func controlOf(svc service.Service) (*control, error) {
	loader, ok := svc.(service.Controller)
	if !ok {
		return nil, errNoControl{"a server of this kind has no model control"}
	}
	return &control{svc: svc, loader: loader, own: map[string]modelconfig.Config{}, loaded: map[string]modelconfig.Config{}}, nil
}

func (c *control) read(ctx context.Context, model string) error {
	var err error
	if c.main, err = c.config(ctx, model); err != nil {
		if e, ok := errors.AsType[*service.Error](err); !ok || e.Class != record.Server || c.loader.LoadModel(ctx, model, nil) != nil {
			return err
		}
		c.extra = model
		if c.main, err = c.config(ctx, model); err != nil {
			return err
		}
	}
	c.models = []string{model}
	if steps := c.main.Steps(); steps != nil {
		c.models = steps
	}
	for _, m := range c.models {
		if c.own[m], err = c.config(ctx, m); err != nil {
			return err
		}
		c.loaded[m] = c.own[m]
	}
	// Loading a model with the configuration that it has changes nothing, and shows whether models can be loaded.
	m := c.models[0]
	if err := c.load(ctx, m, c.own[m]); err != nil {
		return errNoControl{fmt.Sprintf("the server does not load models for clients: %s (Triton: --model-control-mode=explicit)", line(err))}
	}
	return nil
}

func (c *control) close() { _ = c.svc.Close() } // all that was asked has been answered

func (c *control) config(ctx context.Context, model string) (modelconfig.Config, error) {
	json, err := c.loader.ModelConfig(ctx, model)
	if err != nil {
		return modelconfig.Config{}, err
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

func (c *control) ensemble() bool { return c.main.Steps() != nil }

func (c *control) onGPU() bool {
	return slices.ContainsFunc(c.models, func(m string) bool { return c.own[m].OnGPU() })
}

// scope are the models that a knob is about.
func (c *control) scope(step string) []string {
	if step == "" {
		return c.models
	}
	return []string{step}
}

// value is the present value of a setting: that of the first model in scope.
func (c *control) value(step, setting string) (string, error) {
	models := c.scope(step)
	for _, m := range models {
		if !slices.Contains(c.models, m) {
			return "", fmt.Errorf("%q is not a step of the ensemble; its steps are %v", m, c.models)
		}
		if err := c.own[m].Can(setting); err != nil {
			return "", err
		}
	}
	return c.own[models[0]].Value(setting), nil
}

// configs are the configurations of a candidate.
func (c *control) configs(knobs []knob, values []string) (map[string]modelconfig.Config, error) {
	out := map[string]modelconfig.Config{}
	for _, m := range c.models {
		now := c.own[m]
		for _, setting := range modelconfig.Settings() {
			for i, k := range knobs {
				if k.part != ofServer || k.setting != setting || !slices.Contains(c.scope(k.step), m) || values[i] == now.Value(setting) {
					continue
				}
				var err error
				if now, err = now.With(setting, values[i]); err != nil {
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
		if c.loaded[m].Equal(want[m]) {
			continue
		}
		delete(c.loaded, m)
		if err := c.load(ctx, m, want[m]); err != nil {
			return fmt.Errorf("it does not load: %w", err)
		}
		got, err := c.config(ctx, m)
		if err != nil {
			return err
		}
		for i, k := range knobs {
			if k.part == ofServer && slices.Contains(c.scope(k.step), m) && got.Value(k.setting) != values[i] && !derived(k.setting, values[i]) {
				return fmt.Errorf("the server did not take %s=%s: it has %s", k.Name, values[i], got.Value(k.setting))
			}
		}
		c.loaded[m] = want[m]
	}
	return nil
}

// derived tells whether the server may replace a value by one that it derives itself: Triton prefers batches of max_batch_size
// if none are given.
func derived(setting, value string) bool {
	return setting == modelconfig.Preferred && value == modelconfig.None
}

// restore gives every model the configuration back that it had, and asks the server whether it has it.
func (c *control) restore(ctx context.Context) error {
	var errs []error
	for _, m := range c.models {
		if err := restoreModel(ctx, c, m, c.own[m]); err != nil {
			errs = append(errs, fmt.Errorf("model %q: %w", m, err))
		}
	}
	if c.extra != "" {
		errs = append(errs, c.loader.UnloadModel(ctx, c.extra))
	}
	return errors.Join(errs...)
}

// restoreModel loads a model from the server's repository. If that is not the configuration that it had, it had been loaded with
// another one, which is then loaded.
func restoreModel(ctx context.Context, c *control, model string, own modelconfig.Config) error {
	var wrong error
	for _, load := range []func() error{
		func() error { return c.loader.LoadModel(ctx, model, nil) },
		func() error { return c.load(ctx, model, own) },
	} {
		if wrong = load(); wrong != nil {
			continue
		}
		now, err := c.config(ctx, model)
		if err == nil && now.Equal(own) {
			c.loaded[model] = own
			return nil
		}
		if wrong = err; err == nil {
			wrong = errors.New("the server has another configuration")
		}
	}
	return wrong
}

// wait waits until the server answers again.
func (c *control) wait(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lister, ok := c.svc.(service.Lister)
	for ok {
		_, err := lister.Identify(ctx)
		if err == nil {
			break
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
	return nil
}

// text are the configurations of a candidate for the result.
func (c *control) text(want map[string]modelconfig.Config) (out []configText) {
	for _, m := range c.models {
		out = append(out, configText{model: m, text: want[m].Text(), diff: modelconfig.Diff(m+" (now)", c.own[m], m+" (best)", want[m])})
	}
	return out
}

type configText struct{ model, text, diff string }
