package main

import (
	"fmt"
	"time"

	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const patience = 30 * time.Second

// outcome is how a sync ended, and what it says of the object.
type outcome struct {
	Phase   string `json:"phase"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// synchronize applies a manifest, or prunes an object without one, as controller/sync.go does.
func (e *engine) synchronize(target, live *unstructured.Unstructured, chosen options) (any, error) {
	namespace := either(target, live).GetNamespace()
	if chosen.RespectIgnoreDifferences && target != nil && live != nil {
		var err error
		if target, err = e.respecting(target, live, chosen); err != nil {
			return nil, err
		}
	}
	pair := sync.ReconciliationResult{
		Target: []*unstructured.Unstructured{target}, Live: []*unstructured.Unstructured{live},
	}
	run, cleanup, err := sync.NewSyncContext(
		"revision", pair, e.config, e.config, e.kubectl, namespace, e.schema,
		sync.WithLogr(logr.Discard()),
		sync.WithOperationSettings(false, true, false, false),
		sync.WithManifestValidation(true),
		sync.WithReplace(chosen.Replace),
		sync.WithServerSideApply(chosen.ServerSideApply),
		sync.WithServerSideApplyManager(manager),
		sync.WithClientSideApplyMigration(true, common.DefaultClientSideApplyMigrationManager),
	)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		run.Sync()
		phase, message, results := run.GetState()
		if !phase.Completed() {
			continue
		}
		said := outcome{Phase: string(phase), Message: message}
		for _, one := range results {
			said.Status, said.Message = string(one.Status), one.Message
		}
		return said, nil
	}
	return nil, fmt.Errorf("the sync did not end within %s", patience)
}

// respecting gives a manifest the live values of ignored fields (RespectIgnoreDifferences, normalizeTargetResources).
func (e *engine) respecting(target, live *unstructured.Unstructured, chosen options) (*unstructured.Unstructured, error) {
	bare, manifest, err := e.withoutManagers(live.DeepCopy(), target.DeepCopy(), chosen.ManagedFieldsManagers)
	if err != nil {
		return nil, err
	}
	for _, each := range []*unstructured.Unstructured{bare, manifest} {
		if err := ignoring(chosen.JSONPointers).Normalize(each); err != nil {
			return nil, err
		}
	}
	parts := make([][]byte, 0, 3)
	for _, each := range []*unstructured.Unstructured{bare, live, manifest} {
		data, err := each.MarshalJSON()
		if err != nil {
			return nil, err
		}
		parts = append(parts, data)
	}
	patch, err := jsonpatch.CreateMergePatch(parts[0], parts[1])
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(parts[2], patch)
	if err != nil {
		return nil, err
	}
	found := &unstructured.Unstructured{}
	return found, found.UnmarshalJSON(merged)
}

func either(target, live *unstructured.Unstructured) *unstructured.Unstructured {
	if target != nil {
		return target
	}
	return live
}
