// Package main is Envoy Gateway between its informers and its xDS port: what its two runners do with a changed
// resource tree, called directly. What they do besides (deep copies from one to the other, statuses sent to the API
// server, traces) is left out.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"legation.dev/bench/conversation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	egv1a1 "github.com/envoyproxy/gateway/api/v1alpha1"
	"github.com/envoyproxy/gateway/internal/gatewayapi"
	"github.com/envoyproxy/gateway/internal/gatewayapi/resource"
	"github.com/envoyproxy/gateway/internal/ir"
	"github.com/envoyproxy/gateway/internal/logging"
	"github.com/envoyproxy/gateway/internal/xds/translator"
)

const namespace = "envoy-gateway-system"

// own is what its installation makes, for connections from proxies to the controller.
var own = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "envoy"}}

// table is the objects of one kind, by namespace and name.
type table[T client.Object] map[string]T

func (t table[T]) put(thing client.Object) {
	t[key(thing)] = thing.(T)
}

func (t table[T]) remove(thing client.Object) {
	delete(t, key(thing))
}

func key(thing client.Object) string {
	return client.ObjectKeyFromObject(thing).String()
}

// place is where objects of one kind are kept.
type place interface {
	put(client.Object)
	remove(client.Object)
}

func (t table[T]) all() []T {
	return slices.SortedFunc(maps.Values(t), func(a, b T) int {
		return cmp.Compare(key(a), key(b))
	})
}

type gateway struct {
	classes    table[*gwapiv1.GatewayClass] // of which there is one
	gateways   table[*gwapiv1.Gateway]
	routes     table[*gwapiv1.HTTPRoute]
	policies   table[*gwapiv1.BackendTLSPolicy]
	namespaces table[*corev1.Namespace]
	services   table[*corev1.Service]
	slices     table[*discoveryv1.EndpointSlice]
	configMaps table[*corev1.ConfigMap]
	secrets    table[*corev1.Secret]

	tree      *resource.Resources
	irs       resource.XdsIRMap
	snapshots map[string]*cachev3.Snapshot
	number    int
	logger    logging.Logger
}

func (g *gateway) Put(kind string, written []byte) error {
	place, thing, err := g.read(kind, written)
	if err != nil {
		return err
	}
	place.put(thing)
	return nil
}

func (g *gateway) Delete(kind string, written []byte) error {
	place, thing, err := g.read(kind, written)
	if err != nil {
		return err
	}
	place.remove(thing)
	return nil
}

func (g *gateway) read(kind string, written []byte) (place, client.Object, error) {
	place, thing, err := g.empty(kind)
	if err != nil {
		return nil, nil, err
	}
	return place, thing, json.Unmarshal(written, thing)
}

// empty says where objects of a kind are, and makes one to read another into.
func (g *gateway) empty(kind string) (place, client.Object, error) {
	switch kind {
	case "GatewayClass":
		return g.classes, &gwapiv1.GatewayClass{}, nil
	case "Gateway":
		return g.gateways, &gwapiv1.Gateway{}, nil
	case "HTTPRoute":
		return g.routes, &gwapiv1.HTTPRoute{}, nil
	case "BackendTLSPolicy":
		return g.policies, &gwapiv1.BackendTLSPolicy{}, nil
	case "Namespace":
		return g.namespaces, &corev1.Namespace{}, nil
	case "Service":
		return g.services, &corev1.Service{}, nil
	case "EndpointSlice":
		return g.slices, &discoveryv1.EndpointSlice{}, nil
	case "ConfigMap":
		return g.configMaps, &corev1.ConfigMap{}, nil
	case "Secret":
		return g.secrets, &corev1.Secret{}, nil
	}
	return nil, nil, fmt.Errorf("nobody has a %s", kind)
}

func (g *gateway) Prepare() error {
	tree := resource.NewResources()
	tree.GatewayClass = g.classes.all()[0]
	tree.Gateways = g.gateways.all()
	tree.HTTPRoutes = g.routes.all()
	tree.BackendTLSPolicies = g.policies.all()
	tree.Namespaces = g.namespaces.all()
	tree.Services = g.services.all()
	tree.EndpointSlices = g.slices.all()
	tree.ConfigMaps = g.configMaps.all()
	tree.Secrets = append(g.secrets.all(), own) // which is only looked for: nothing here uses it
	tree.Sort()
	g.tree = tree
	return nil
}

func (g *gateway) Translate() error {
	made, err := (&gatewayapi.Translator{
		GatewayControllerName: egv1a1.GatewayControllerName,
		GatewayClassName:      gwapiv1.ObjectName(g.tree.GatewayClass.Name),
		ControllerNamespace:   namespace,
		Logger:                g.logger,
	}).Translate(context.Background(), g.tree)
	if err != nil {
		return err
	}
	for key, made := range made.XdsIR {
		if err := made.Validate(); err != nil {
			return err
		}
		if reflect.DeepEqual(g.irs[key], made) {
			continue
		}
		g.irs[key] = made
		if err := g.publish(key, made); err != nil {
			return err
		}
	}
	return nil
}

// publish makes what a stream of the incremental protocol is answered from; each resource is made bytes for its
// version.
func (g *gateway) publish(key string, changed *ir.Xds) error {
	made, err := (&translator.Translator{
		ControllerNamespace: namespace,
		FilterOrder:         changed.FilterOrder,
		Logger:              g.logger,
	}).Translate(context.Background(), changed)
	if err != nil {
		return err
	}
	g.number++
	snapshot, err := cachev3.NewSnapshot(strconv.Itoa(g.number), made.XdsResources)
	if err != nil {
		return err
	}
	g.snapshots[key] = snapshot
	return snapshot.ConstructVersionMap()
}

func (g *gateway) Resources(give func(conversation.Resource) error) error {
	for group, snapshot := range g.snapshots {
		for number := range types.UnknownType {
			typeURL, err := cachev3.GetResponseTypeURL(number)
			if err != nil {
				return err
			}
			for name, each := range snapshot.GetResources(typeURL) {
				body, err := cachev3.MarshalResource(each)
				if err != nil {
					return err
				}
				if err := give(conversation.Resource{Group: group, TypeURL: typeURL, Name: name, Body: body}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func main() {
	conversation.Hold(func() conversation.Peer {
		return &gateway{
			classes:    table[*gwapiv1.GatewayClass]{},
			gateways:   table[*gwapiv1.Gateway]{},
			routes:     table[*gwapiv1.HTTPRoute]{},
			policies:   table[*gwapiv1.BackendTLSPolicy]{},
			namespaces: table[*corev1.Namespace]{},
			services:   table[*corev1.Service]{},
			slices:     table[*discoveryv1.EndpointSlice]{},
			configMaps: table[*corev1.ConfigMap]{},
			secrets:    table[*corev1.Secret]{},
			irs:        resource.XdsIRMap{},
			snapshots:  map[string]*cachev3.Snapshot{},
			logger:     logging.DefaultLogger(io.Discard, egv1a1.LogLevelInfo),
		}
	})
}
