package main

import (
	"encoding/json"

	"github.com/argoproj/argo-cd/v3/util/argo/managedfields"
	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/kube/scheme"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// status is ignored by default (resource.compareoptions of argocd-cm, ignoreResourceStatusField: all).
const status = "/status"

// difference is whether an object is OutOfSync, and both sides as the user interface shows them.
type difference struct {
	Modified  bool            `json:"modified"`
	Live      json.RawMessage `json:"live"`
	Predicted json.RawMessage `json:"predicted"`
}

// compare compares a stored object with its manifest, as util/argo/diff does (StateDiff).
func (e *engine) compare(target, live *unstructured.Unstructured, chosen options) (any, error) {
	live, target, err := e.withoutManagers(live, target, chosen.ManagedFieldsManagers)
	if err != nil {
		return nil, err
	}
	settings := []diff.Option{
		diff.WithNormalizer(ignoring(append([]string{status}, chosen.JSONPointers...))),
		diff.WithStructuredMergeDiff(chosen.ServerSideApply),
		diff.WithGVKParser(e.parser),
		diff.WithManager(manager),
		diff.WithServerSideDiff(chosen.ServerSideDiff),
		diff.WithIgnoreMutationWebhook(!chosen.IncludeMutationWebhook),
		diff.WithLogr(logr.Discard()),
	}
	if chosen.ServerSideDiff {
		applier, cleanup, err := kube.ManageServerSideDiffDryRuns(
			e.config, e.schema, tracing.NopTracer{}, logr.Discard(), nil,
		)
		if err != nil {
			return nil, err
		}
		defer cleanup()
		settings = append(settings, diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)))
	}
	found, err := diff.Diff(target, live, settings...)
	if err != nil {
		return nil, err
	}
	return difference{found.Modified, found.NormalizedLive, found.PredictedLive}, nil
}

// withoutManagers drops the fields that trusted managers changed (ignoreDifferences.managedFieldsManagers).
func (e *engine) withoutManagers(
	live, target *unstructured.Unstructured, managers []string,
) (*unstructured.Unstructured, *unstructured.Unstructured, error) {
	if live == nil || target == nil || len(managers) == 0 {
		return live, target, nil
	}
	kind := scheme.ResolveParseableType(target.GroupVersionKind(), e.parser)
	return managedfields.Normalize(live, target, managers, kind)
}

// ignoring drops fields from both sides (ignoreDifferences.jsonPointers).
type ignoring []string

func (i ignoring) Normalize(un *unstructured.Unstructured) error {
	data, err := json.Marshal(un)
	if err != nil {
		return err
	}
	for _, pointer := range i {
		data, err = dropped(data, pointer)
		if err != nil {
			return err
		}
	}
	return json.Unmarshal(data, un)
}

// dropped removes one field; it is no error if there is none.
func dropped(data []byte, pointer string) ([]byte, error) {
	operations, err := json.Marshal([]map[string]string{{"op": "remove", "path": pointer}})
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, err
	}
	allowed := jsonpatch.NewApplyOptions()
	allowed.AllowMissingPathOnRemove = true
	return patch.ApplyWithOptions(data, allowed)
}
