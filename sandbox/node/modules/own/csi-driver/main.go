// A CSI driver whose volumes are folders of this machine. It gives Kubernetes's own sidecars and the kubelet something real
// to talk to: volumes, snapshots, clones, expansion, and volumes that only one node reaches.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	driver := &driver{}
	endpoint := flag.String("endpoint", "", "path of the socket to listen on")
	register := flag.String("register", "", "path of the socket on which the kubelet asks for the driver")
	flag.StringVar(&driver.name, "name", "", "name of the driver")
	flag.StringVar(&driver.data, "data", "", "folder of the volumes and snapshots")
	flag.StringVar(&driver.node, "node", "", "name of the node; without it the driver only controls")
	flag.BoolVar(&driver.local, "local", false, "each volume is reached from one node alone")
	flag.Parse()

	if *register != "" {
		go serve(*register, func(server *grpc.Server) {
			registration.RegisterRegistrationServer(server, &registrar{name: driver.name, endpoint: *endpoint})
		})
	}
	serve(*endpoint, func(server *grpc.Server) {
		csi.RegisterIdentityServer(server, driver)
		csi.RegisterControllerServer(server, driver)
		csi.RegisterNodeServer(server, driver)
	})
}

func serve(path string, register func(*grpc.Server)) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logFailure))
	register(server)
	log.Fatal(server.Serve(listener))
}

func logFailure(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	response, err := handle(ctx, request)
	if err != nil {
		log.Printf("%s %v: %v", info.FullMethod, request, err)
	}
	return response, err
}

type registrar struct {
	registration.UnimplementedRegistrationServer
	name, endpoint string
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: r.name, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (r *registrar) NotifyRegistrationStatus(
	_ context.Context, status *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		log.Fatalf("the kubelet refuses the driver: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
