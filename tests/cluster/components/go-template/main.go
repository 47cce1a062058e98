// Go's text/template as a program: each line of its input has a template and its data in JSON, each line of its
// output the text, or the error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type question struct {
	Source string          `json:"source"`
	Data   json.RawMessage `json:"data"`
}

type answer struct {
	Text  *string `json:"text,omitempty"`
	Error string  `json:"error,omitempty"`
}

// functions stand for those that KServe adds: that they are called, and with what; and the one of Sprig.
var functions = template.FuncMap{
	"ChildName":        func(parent, suffix string) string { return parent + suffix },
	"kvTransferConfig": func(spec any) string { return fmt.Sprint("offloading: ", !isNil(spec)) },
	"default":          sprig.TxtFuncMap()["default"],
	"shutdownTimeout":  func(spec any, seconds int) string { return fmt.Sprint(!isNil(spec), seconds) },
}

func isNil(given any) bool {
	switch reflect.ValueOf(given).Kind() {
	case reflect.Invalid:
		return true
	case reflect.Map, reflect.Pointer, reflect.Slice:
		return reflect.ValueOf(given).IsNil()
	}
	return false
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		var made answer
		if text, err := rendered(lines.Bytes()); err != nil {
			made.Error = err.Error()
		} else {
			made.Text = &text
		}
		if err := out.Encode(made); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func rendered(line []byte) (string, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return "", err
	}
	decoder := json.NewDecoder(strings.NewReader(string(asked.Data)))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		return "", err
	}
	parsed, err := template.New("t").Option("missingkey=error").Funcs(functions).Parse(asked.Source)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := parsed.Execute(&out, value(data)); err != nil {
		return "", err
	}
	return out.String(), nil
}

// value returns the value in Go: {"struct": …} is a pointer to a struct, {"pointer": …} a pointer to a scalar,
// {"map": …} a map, and null a nil pointer.
func value(given any) any {
	switch one := given.(type) {
	case json.Number:
		number, err := one.Int64()
		if err != nil {
			panic(err)
		}
		return int(number)
	case []any:
		items := make([]any, len(one))
		for at, item := range one {
			items[at] = value(item)
		}
		return items
	case map[string]any:
		for kind, below := range one {
			return tagged(kind, below)
		}
	case nil:
		return (*int)(nil)
	}
	return given
}

func tagged(kind string, below any) any {
	if kind == "pointer" {
		scalar := reflect.ValueOf(value(below))
		pointer := reflect.New(scalar.Type())
		pointer.Elem().Set(scalar)
		return pointer.Interface()
	}
	items := map[string]any{}
	for name, item := range below.(map[string]any) {
		items[name] = value(item)
	}
	if kind == "map" {
		return items
	}
	var fields []reflect.StructField
	for name, item := range items {
		fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeOf(item)})
	}
	made := reflect.New(reflect.StructOf(fields))
	for name, item := range items {
		made.Elem().FieldByName(name).Set(reflect.ValueOf(item))
	}
	return made.Interface()
}
