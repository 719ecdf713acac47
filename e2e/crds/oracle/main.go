// Command oracle says of each object what an API server with the published CRDs would say.
//
// It reads one JSON object a line and answers each with one JSON line: the list of refusals, empty if there is none.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// version is everything needed to judge the objects of one served version of one CRD.
type version struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
	namespaced bool
}

type refusal struct {
	Field  string `json:"field"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: oracle FOLDER-OF-CRDS")
		os.Exit(2)
	}
	versions, err := load(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := answer(versions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func load(folder string) (map[string]version, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	versions := map[string]version{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
			continue // a policy or a list of files, and no CRD
		}
		for _, served := range crd.Spec.Versions {
			one, err := read(served, crd.Spec.Scope == apiextensionsv1.NamespaceScoped)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			versions[crd.Spec.Group+"/"+served.Name+" "+crd.Spec.Names.Kind] = one
		}
	}
	return versions, nil
}

func read(served apiextensionsv1.CustomResourceDefinitionVersion, namespaced bool) (version, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		served.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return version{}, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return version{}, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return version{}, err
	}
	return version{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit), namespaced}, nil
}

func answer(versions map[string]version) error {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return nil
		}
		var object map[string]any
		if err := utiljson.Unmarshal(line, &object); err != nil {
			return err
		}
		key := fmt.Sprintf("%v %v", object["apiVersion"], object["kind"])
		one, known := versions[key]
		if !known {
			return fmt.Errorf("no CRD for %s", key)
		}
		if err := output.Encode(one.refusals(object)); err != nil {
			return err
		}
	}
}

func (v version) refusals(object map[string]any) []refusal {
	found := []refusal{}
	add := func(errors ...*field.Error) {
		for _, e := range errors {
			found = append(found, refusal{e.Field, string(e.Type), e.ErrorBody()})
		}
	}
	delete(object, "status")
	invalid, unknown := objectmeta.CoerceWithOptions(nil, object, v.structural, true,
		objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if invalid != nil {
		add(invalid)
		return found
	}
	unknown = append(unknown, pruning.PruneWithOptions(object, v.structural, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	for _, path := range unknown {
		found = append(found, refusal{path, "unknown", "unknown field"})
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, v.structural)
	defaulting.Default(object, v.structural)

	if meta, _, err := objectmeta.GetObjectMeta(object, false); err != nil {
		found = append(found, refusal{"metadata", "invalid", err.Error()})
	} else {
		if meta == nil {
			meta = &metav1.ObjectMeta{}
		}
		add(apivalidation.ValidateObjectMeta(meta, v.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	}
	errors := validation.ValidateCustomResource(nil, object, v.validator)
	errors = append(errors, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	add(errors...)
	if v.rules != nil && !blocked(errors) {
		failed, _ := v.rules.Validate(context.Background(), nil, v.structural, object, nil, celconfig.RuntimeCELCostBudget)
		add(failed...)
	}
	return found
}

// blocked says whether an object is too far from its schema for the rules to be asked.
func blocked(errors field.ErrorList) bool {
	for _, e := range errors {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
