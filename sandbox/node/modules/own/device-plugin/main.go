// A device plug-in that offers one device of the node to many pods, as virt-handler of KubeVirt does.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	device := &device{}
	endpoint := flag.String("endpoint", "", "path of the socket to listen on, in the folder where the kubelet looks for plug-ins")
	flag.StringVar(&device.resource, "resource", "", "name of the resource of the node, such as devices.kubevirt.io/tun")
	flag.StringVar(&device.path, "path", "", "path of the device on the node, and in containers")
	flag.IntVar(&device.count, "count", 1000, "how many containers may have it")
	flag.Parse()
	device.endpoint = *endpoint

	if err := os.Remove(*endpoint); err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", *endpoint)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, device)
	plugin.RegisterDevicePluginServer(server, device)
	log.Fatal(server.Serve(listener))
}

type device struct {
	registration.UnimplementedRegistrationServer
	plugin.UnimplementedDevicePluginServer
	resource, path, endpoint string
	count                    int
}

func (d *device) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.DevicePlugin, Name: d.resource, Endpoint: d.endpoint, SupportedVersions: plugin.SupportedVersions[:],
	}, nil
}

func (d *device) NotifyRegistrationStatus(
	_ context.Context, status *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		log.Fatalf("the kubelet refuses the device: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

func (d *device) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

// The list never changes, and the kubelet takes the end of the stream for the end of the plug-in.
func (d *device) ListAndWatch(_ *plugin.Empty, stream grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	list := &plugin.ListAndWatchResponse{}
	for index := range d.count {
		list.Devices = append(list.Devices, &plugin.Device{ID: fmt.Sprintf("%d", index), Health: plugin.Healthy})
	}
	if err := stream.Send(list); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

func (d *device) Allocate(_ context.Context, request *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	response := &plugin.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &plugin.ContainerAllocateResponse{
			Devices: []*plugin.DeviceSpec{{HostPath: d.path, ContainerPath: d.path, Permissions: "rw"}},
		})
	}
	return response, nil
}
