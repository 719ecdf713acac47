// Package main is Contour between its informers and its xDS port: what its event handler does with what changed,
// called directly and without waiting for more to come. Statuses are made, of objects that are there already, and
// neither compared nor sent.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"legation.dev/bench/conversation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwapiv1alpha3 "sigs.k8s.io/gateway-api/apis/v1alpha3"

	contourv1alpha1 "github.com/projectcontour/contour/apis/projectcontour/v1alpha1"
	"github.com/projectcontour/contour/internal/dag"
	envoyv3 "github.com/projectcontour/contour/internal/envoy/v3"
	"github.com/projectcontour/contour/internal/xdscache"
	xdscachev3 "github.com/projectcontour/contour/internal/xdscache/v3"
)

// group is the one Gateway that a Contour serves.
const group = "shop/g0"

// change is what an informer says of one object.
type change struct {
	thing client.Object
	gone  bool
}

type named struct {
	kind reflect.Type
	name client.ObjectKey
}

type contour struct {
	builder   *dag.Builder
	endpoints *xdscachev3.EndpointSliceTranslator
	caches    []xdscache.ResourceCache
	observer  dag.Observer

	judged  map[named]client.Object // what has a status
	slices  map[client.ObjectKey]*discoveryv1.EndpointSlice
	pending []change
	built   bool
}

func (c *contour) Put(kind string, written []byte) error {
	return c.await(kind, written, false)
}

func (c *contour) Delete(kind string, written []byte) error {
	return c.await(kind, written, true)
}

func (c *contour) await(kind string, written []byte, gone bool) error {
	thing, err := empty(kind)
	if err != nil {
		return err
	}
	c.pending = append(c.pending, change{thing, gone})
	return json.Unmarshal(written, thing)
}

func empty(kind string) (client.Object, error) {
	switch kind {
	case "GatewayClass":
		return &gwapiv1.GatewayClass{}, nil
	case "Gateway":
		return &gwapiv1.Gateway{}, nil
	case "HTTPRoute":
		return &gwapiv1.HTTPRoute{}, nil
	case "BackendTLSPolicy":
		return &gwapiv1alpha3.BackendTLSPolicy{}, nil
	case "Namespace":
		return &corev1.Namespace{}, nil
	case "Service":
		return &corev1.Service{}, nil
	case "EndpointSlice":
		return &discoveryv1.EndpointSlice{}, nil
	case "ConfigMap":
		return &corev1.ConfigMap{}, nil
	case "Secret":
		return &corev1.Secret{}, nil
	}
	return nil, fmt.Errorf("nobody has a %s", kind)
}

func (c *contour) Prepare() error {
	return nil
}

func (c *contour) Translate() error {
	rebuild := false
	for _, each := range c.pending {
		rebuild = c.take(each) || rebuild
	}
	c.pending = nil
	if !rebuild {
		return nil
	}
	graph := c.builder.Build()
	c.observer.OnChange(graph)
	c.judge(graph)
	return c.marshal()
}

// judge makes the status of each object, as is done before it is compared with what the object says.
func (c *contour) judge(graph *dag.DAG) {
	for _, update := range graph.StatusCache.GetStatusUpdates() {
		if thing, known := c.judged[named{reflect.TypeOf(update.Resource), update.NamespacedName}]; known {
			update.Mutator.Mutate(thing)
		}
	}
}

// take tells a change to those who keep objects, and whether the graph has to be built again.
func (c *contour) take(each change) bool {
	if slice, ok := each.thing.(*discoveryv1.EndpointSlice); ok {
		c.place(slice, each.gone)
		return false
	}
	key := named{reflect.TypeOf(each.thing), client.ObjectKeyFromObject(each.thing)}
	if each.gone {
		delete(c.judged, key)
		return c.builder.Source.Remove(each.thing)
	}
	switch each.thing.(type) {
	case *gwapiv1.GatewayClass, *gwapiv1.Gateway, *gwapiv1.HTTPRoute, *gwapiv1alpha3.BackendTLSPolicy:
		c.judged[key] = each.thing
	}
	return c.builder.Source.Insert(each.thing)
}

func (c *contour) place(slice *discoveryv1.EndpointSlice, gone bool) {
	key := client.ObjectKeyFromObject(slice)
	if gone {
		c.endpoints.OnDelete(slice)
		delete(c.slices, key)
		return
	}
	if before, known := c.slices[key]; known {
		c.endpoints.OnUpdate(before, slice)
	} else {
		c.endpoints.OnAdd(slice, false)
	}
	c.slices[key] = slice
}

// marshal makes bytes of what one Envoy is sent after the graph was built: everything, for it has another version
// then. Endpoints are sent apart, as far as they differ; their bytes are counted at first only.
func (c *contour) marshal() error {
	for _, each := range c.caches {
		if each.TypeURL() == resourcev3.EndpointType && c.built {
			continue
		}
		for _, message := range each.Contents() {
			if _, err := cachev3.MarshalResource(message); err != nil {
				return err
			}
		}
	}
	c.built = true
	return nil
}

func (c *contour) Resources(give func(conversation.Resource) error) error {
	for _, each := range c.caches {
		for _, message := range each.Contents() {
			body, err := cachev3.MarshalResource(message)
			if err != nil {
				return err
			}
			name := cachev3.GetResourceName(message)
			if err := give(conversation.Resource{Group: group, TypeURL: each.TypeURL(), Name: name, Body: body}); err != nil {
				return err
			}
		}
	}
	return nil
}

func started() *contour {
	log := logrus.New()
	log.SetOutput(io.Discard)
	made := envoyv3.NewEnvoyGen(envoyv3.EnvoyGenOpt{XDSClusterName: envoyv3.DefaultXDSClusterName})
	endpoints := xdscachev3.NewEndpointSliceTranslator(log)
	caches := []xdscache.ResourceCache{
		xdscachev3.NewListenerCache(
			xdscachev3.ListenerConfig{},
			contourv1alpha1.MetricsConfig{Address: "0.0.0.0", Port: 8002},
			contourv1alpha1.HealthConfig{Address: "0.0.0.0", Port: 8002},
			nil,
			0,
			made,
		),
		&xdscachev3.SecretCache{},
		&xdscachev3.RouteCache{},
		xdscachev3.NewClusterCache(made),
		endpoints,
	}
	snapshots := xdscachev3.NewSnapshotHandler(caches, log)
	endpoints.SetObserver(snapshots)
	return &contour{
		builder: &dag.Builder{
			Source: dag.KubernetesCache{FieldLogger: log},
			Processors: []dag.Processor{
				&dag.ListenerProcessor{HTTPAddress: "0.0.0.0", HTTPPort: 8080, HTTPSAddress: "0.0.0.0", HTTPSPort: 8443},
				&dag.IngressProcessor{FieldLogger: log},
				&dag.ExtensionServiceProcessor{FieldLogger: log},
				&dag.HTTPProxyProcessor{},
				&dag.GatewayAPIProcessor{FieldLogger: log, SetSourceMetadataOnRoutes: true},
			},
		},
		endpoints: endpoints,
		caches:    caches,
		observer:  dag.ComposeObservers(append(xdscache.ObserversOf(caches), snapshots)...),
		judged:    map[named]client.Object{},
		slices:    map[client.ObjectKey]*discoveryv1.EndpointSlice{},
	}
}

func main() {
	conversation.Hold(func() conversation.Peer { return started() })
}
