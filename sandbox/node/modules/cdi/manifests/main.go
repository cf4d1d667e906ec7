// Manifests prints what CDI's own operator would create in a cluster for the controllers of CDI: CRDs, roles and webhooks, as a
// JSON list.
package main

import (
	"encoding/json"
	"log"
	"os"

	"kubevirt.io/containerized-data-importer/pkg/operator/resources/cluster"
	"kubevirt.io/containerized-data-importer/pkg/operator/resources/operator"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func main() {
	args := &cluster.FactoryArgs{Namespace: "cdi", Client: fake.NewClientBuilder().Build()}
	objects := []client.Object{operator.NewCdiCrd()}
	for _, create := range []func(*cluster.FactoryArgs) ([]client.Object, error){
		cluster.CreateAllStaticResources, cluster.CreateAllDynamicResources,
	} {
		made, err := create(args)
		if err != nil {
			log.Fatal(err)
		}
		objects = append(objects, made...)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"apiVersion": "v1", "kind": "List", "items": objects,
	}); err != nil {
		log.Fatal(err)
	}
}
