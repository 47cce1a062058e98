package main

import (
	"sort"
	"strings"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// tracking holds the name of the Application; `NAME:GROUP/KIND:NAMESPACE/NAME`.
const tracking = "argocd.argoproj.io/tracking-id"

// tree is what Argo CD shows of an object: what it takes as part of the Application, and what hangs below.
type tree struct {
	Managed  []string `json:"managed"`
	Children []string `json:"children"`
}

// children finds what belongs to an Application of one manifest, as controller/cache does.
func (e *engine) children(target *unstructured.Unstructured) (any, error) {
	name, _, _ := strings.Cut(target.GetAnnotations()[tracking], ":")
	cluster := cache.NewClusterCache(e.config,
		cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(un *unstructured.Unstructured, isRoot bool) (any, bool) {
			app, _, _ := strings.Cut(un.GetAnnotations()[tracking], ":")
			if !isRoot || app == "" {
				return "", false
			}
			return app, true
		}),
	)
	defer cluster.Invalidate()
	if err := cluster.EnsureSynced(); err != nil {
		return nil, err
	}
	isManaged := func(one *cache.Resource) bool { return one.Info == name }
	managed, err := cluster.GetManagedLiveObjs([]*unstructured.Unstructured{target}, isManaged)
	if err != nil {
		return nil, err
	}
	found, keys := tree{}, []kube.ResourceKey{}
	for key := range managed {
		keys = append(keys, key)
		found.Managed = append(found.Managed, shown(key))
	}
	cluster.IterateHierarchyV2(keys, func(one *cache.Resource, _ map[kube.ResourceKey]*cache.Resource) bool {
		if _, isRoot := managed[one.ResourceKey()]; !isRoot {
			found.Children = append(found.Children, shown(one.ResourceKey()))
		}
		return true
	})
	sort.Strings(found.Managed)
	sort.Strings(found.Children)
	return found, nil
}

func shown(key kube.ResourceKey) string {
	return key.Kind + "/" + key.Name
}
