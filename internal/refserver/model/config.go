package model

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

// ParseConfig reads a config.pbtxt, checks it and fills in the defaults that Triton fills in.
func ParseConfig(text []byte) (*kserve.ModelConfig, error) {
	cfg := &kserve.ModelConfig{}
	if err := prototext.Unmarshal(text, cfg); err != nil {
		return &kserve.ModelConfig{}, err
	}
	return cfg, complete(cfg)
}

// complete checks a configuration and fills in the defaults.
func complete(cfg *kserve.ModelConfig) error {
	ensemble := cfg.GetEnsembleScheduling() != nil
	if err := supported(cfg); err != nil {
		return err
	}
	switch {
	case cfg.GetMaxBatchSize() < 0:
		return fmt.Errorf("'max_batch_size' must be non-negative value in model configuration for '%s'", cfg.GetName())
	case len(cfg.GetInput()) == 0:
		return fmt.Errorf("model '%s' must specify 'input'", cfg.GetName())
	case len(cfg.GetOutput()) == 0:
		return fmt.Errorf("model '%s' must specify 'output'", cfg.GetName())
	case !ensemble && cfg.GetBackend() == "":
		return fmt.Errorf("model '%s' must specify 'backend'", cfg.GetName())
	}
	if cfg.GetVersionPolicy() == nil {
		cfg.VersionPolicy = &kserve.ModelVersionPolicy{PolicyChoice: &kserve.ModelVersionPolicy_Latest_{Latest: &kserve.ModelVersionPolicy_Latest{NumVersions: 1}}}
	}
	if ensemble {
		cfg.Platform = "ensemble"
		if cfg.GetModelTransactionPolicy() == nil {
			cfg.ModelTransactionPolicy = &kserve.ModelTransactionPolicy{}
		}
		return nil
	}
	completeInstances(cfg)
	return completeBatching(cfg)
}

// supported refuses settings that would change what a model does, and that this server does not have.
func supported(cfg *kserve.ModelConfig) error {
	dyn := cfg.GetDynamicBatching()
	queue := dyn.GetDefaultQueuePolicy()
	ragged := slices.ContainsFunc(cfg.GetInput(), func(in *kserve.ModelInput) bool { return in.GetAllowRaggedBatch() })
	for setting, used := range map[string]bool{
		"response_cache": cfg.GetResponseCache().GetEnable(), "allow_ragged_batch": ragged, "preserve_ordering": dyn.GetPreserveOrdering(),
		"priority_levels": dyn.GetPriorityLevels() > 0, "default_timeout_microseconds": queue.GetDefaultTimeoutMicroseconds() > 0,
		"allow_timeout_override": queue.GetAllowTimeoutOverride(),
	} {
		if used {
			return fmt.Errorf("model '%s' has %s, which the reference server does not support; leave it out", cfg.GetName(), setting)
		}
	}
	return nil
}

func completeInstances(cfg *kserve.ModelConfig) {
	if len(cfg.GetInstanceGroup()) == 0 {
		cfg.InstanceGroup = []*kserve.ModelInstanceGroup{{}}
	}
	for i, g := range cfg.GetInstanceGroup() {
		if g.GetName() == "" {
			g.Name = fmt.Sprintf("%s_%d", cfg.GetName(), i)
		}
		if g.GetCount() < 1 {
			g.Count = 1
		}
		if g.GetKind() == kserve.ModelInstanceGroup_KIND_AUTO {
			g.Kind = kserve.ModelInstanceGroup_KIND_CPU
		}
	}
}

func completeBatching(cfg *kserve.ModelConfig) error {
	if dyn := cfg.GetDynamicBatching(); dyn != nil {
		if cfg.GetMaxBatchSize() > 0 && len(dyn.GetPreferredBatchSize()) == 0 {
			dyn.PreferredBatchSize = []int32{cfg.GetMaxBatchSize()}
		}
		for _, n := range dyn.GetPreferredBatchSize() {
			if n < 1 || n > cfg.GetMaxBatchSize() {
				return fmt.Errorf("dynamic batching preferred size must be <= max batch size for %s", cfg.GetName())
			}
		}
	}
	if seq := cfg.GetSequenceBatching(); seq != nil {
		if seq.GetMaxSequenceIdleMicroseconds() == 0 {
			seq.MaxSequenceIdleMicroseconds = 1_000_000
		}
		if seq.GetStrategyChoice() == nil {
			seq.StrategyChoice = &kserve.ModelSequenceBatching_Direct{Direct: &kserve.ModelSequenceBatching_StrategyDirect{}}
		}
		if old := seq.GetOldest(); old != nil && old.GetMaxCandidateSequences() < 1 {
			return errors.New("sequence batching oldest strategy must specify 'max_candidate_sequences'")
		}
	}
	return nil
}
