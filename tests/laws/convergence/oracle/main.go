// Compares writes with those of structured-merge-diff. Arguments: a schema, and one write a line as JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// stripped are the fields that the API server leaves out of managedFields (stripmeta.go).
var stripped = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
)

type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

type entry struct {
	Manager, Operation string
	FieldsV1           json.RawMessage
}

type write struct {
	Operation, Manager    string
	Stored, Input, Result map[string]interface{}
	Owners, ResultOwners  []entry
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	parser, err := typed.NewParser(typed.YAMLObject(text))
	check(err)
	file, err := os.Open(os.Args[2])
	check(err)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	counts := map[string]int{}
	for lines.Scan() {
		var one write
		check(json.Unmarshal(lines.Bytes(), &one))
		object, owners := written(parser.Type("lws"), one)
		counts[one.Operation]++
		if !reflect.DeepEqual(object, without(one.Result)) {
			counts["objects differ"]++
			fmt.Printf("object of %s:\n%s\n%s\n", one.Operation, asJSON(object), asJSON(one.Result))
		}
		if expected := sets(one.ResultOwners); !expected.Equals(owners) {
			counts["owners differ"]++
			fmt.Printf("owners of %s:\n%v\n%v\n", one.Operation, owners, expected)
		}
	}
	fmt.Printf("%d writes by apply, %d by update; %d objects and %d owners differ\n",
		counts["Apply"], counts["Update"], counts["objects differ"], counts["owners differ"])
	if counts["Apply"] == 0 || counts["objects differ"]+counts["owners differ"] > 0 {
		os.Exit(1)
	}
}

// written returns the object and the owners of a write, as the API server has them.
func written(kind typed.ParseableType, one write) (interface{}, fieldpath.ManagedFields) {
	live, err := kind.FromUnstructured(one.Stored, typed.AllowDuplicates)
	check(err)
	input, err := kind.FromUnstructured(one.Input)
	check(err)
	updater := (&merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}).BuildUpdater()
	manager := one.Manager + "/" + one.Operation
	if one.Operation == "Apply" {
		result, owners, err := updater.Apply(live, input, "v1", sets(one.Owners), manager, true)
		check(err)
		set := owners[manager].Set().Difference(stripped)
		owners[manager] = fieldpath.NewVersionedSet(set, "v1", true)
		return without(result.AsValue().Unstructured()), owners
	}
	_, owners, err := updater.Update(live, input, "v1", sets(one.Owners), "current-operation")
	check(err)
	if mine, ok := owners["current-operation"]; ok {
		delete(owners, "current-operation")
		set := mine.Set()
		if before, ok := owners[manager]; ok {
			set = set.Union(before.Set())
		}
		if set = set.Difference(stripped); !set.Empty() {
			owners[manager] = fieldpath.NewVersionedSet(set, "v1", false)
		}
	}
	return without(one.Input), owners
}

func sets(entries []entry) fieldpath.ManagedFields {
	found := fieldpath.ManagedFields{}
	for _, one := range entries {
		set := fieldpath.NewSet()
		check(set.FromJSON(bytes.NewReader(one.FieldsV1)))
		name := one.Manager + "/" + one.Operation
		found[name] = fieldpath.NewVersionedSet(set, "v1", one.Operation == "Apply")
	}
	return found
}

// without returns a value without nulls, which the API server drops, and without the annotation of client-side apply,
// which it renews outside of the library.
func without(value interface{}) interface{} {
	var copied interface{}
	check(json.Unmarshal([]byte(asJSON(value)), &copied))
	drop(copied)
	return copied
}

func drop(value interface{}) {
	switch below := value.(type) {
	case map[string]interface{}:
		for key, item := range below {
			if item == nil || key == lastApplied {
				delete(below, key)
			} else {
				drop(item)
			}
		}
	case []interface{}:
		for _, item := range below {
			drop(item)
		}
	}
}

func asJSON(value interface{}) string {
	text, err := json.Marshal(value)
	check(err)
	return string(text)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
