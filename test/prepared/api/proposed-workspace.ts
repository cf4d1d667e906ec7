import type { WorkspaceSpecInput } from '../../../constructs/authoring/spec-props.ts'

/** As the proposal of the Workspace shows it, in full. */
export const PROPOSED_WORKSPACE = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'Workspace',
  metadata: {
    name: 'demo-workspace-1',
  },
  spec: {
    vms: [
      {
        baseVm: 'ubuntu_2004_lts_en-us_x64',
        baseVmVersion: '2.1.2',
        ignoreOnDeploy: true,
        name: 'demo-vm',
        version: '2.1.0',
        backingVMDiskImage: 'demo-vmdi',
        resources: {
          cpu: '2',
          memory: '2Gi',
        },
        diskSize: '18Gi',
        interfaces: [
          {
            network: 'control-net',
            ipAddress: '10.10.0.161/24',
          },
          {
            network: 'bridge-inet',
            ipAddress: '4.29.163.6/28',
          },
          {
            network: 'bridge-edge',
            ipAddress: '172.27.11.11/28',
          },
        ],
        ansible: {
          roles: {
            build: [
              {
                role: 'specialize',
              },
              {
                role: 'linuxRouter',
                variables: {
                  enable_nat: true,
                  nat_out_iface_idx: 1,
                },
              },
            ],
            deploy: [
              {
                role: 'runtimeChecks',
              },
            ],
          },
        },
      },
    ],
    containerClusters: [
      {
        ignoreOnDeploy: false,
        name: 'demo-app',
        interfaces: [
          {
            network: 'bridge-inet',
            ipAddress: '4.29.163.7/28',
          },
        ],
        containers: [
          {
            name: 'chef',
            image: 'ghcr.io/demo/demo-containers/demo-app:1.0.2',
            resources: {
              cpu: '128m',
              memory: '256Mi',
            },
            capabilities: {
              drop: ['ALL'],
              add: ['NET_BIND_SERVICE'],
            },
            volumeMounts: [
              {
                name: 'dnsconfig',
                containerPath: '/config',
                readOnly: true,
              },
            ],
            portMappings: [
              {
                containerPort: 53,
                protocol: 'udp',
                hostPort: 53,
              },
            ],
          },
        ],
      },
      {
        ignoreOnDeploy: false,
        name: 'ansible',
        interfaces: [
          {
            network: 'control-net',
            ipAddress: '10.10.0.141/24',
          },
        ],
        containers: [
          {
            name: 'ansible',
            image: 'ghcr.io/demo/demo-containers/ansible:2.5.14',
            resources: {
              cpu: '384m',
              memory: '2048Mi',
            },
            env: [
              {
                name: 'DEBUG',
                value: 'true',
              },
            ],
          },
        ],
      },
    ],
    volumes: [
      {
        name: 'monitorconfigs',
        size: '1Gi',
        localPath: '/config',
      },
      {
        name: 'dnsconfig',
        size: '1Gi',
        localPath: '/demo-app-config',
      },
    ],
    networks: [
      {
        name: 'control-net',
        cidr: '10.10.0.0/24',
      },
      {
        name: 'capture-net',
        cidr: '10.10.1.0/24',
      },
      {
        name: 'bridge-inet',
        cidr: '4.29.163.0/28',
        nameservers: {
          addresses: ['4.29.163.7'],
        },
        rangeGateway: '4.29.163.14',
        routes: [
          {
            destinationNetworkCidr: '0.0.0.0/0',
            nextHopIpAddress: '4.29.163.14',
          },
        ],
      },
      {
        name: 'bridge-edge',
        cidr: '172.27.11.0/28',
        routes: [
          {
            destinationNetworkCidr: '0.0.0.0/0',
            nextHopIpAddress: '172.27.11.11',
          },
          {
            destinationNetworkCidr: '172.26.0.0/15',
            nextHopIpAddress: '172.27.11.12',
          },
        ],
        nameservers: {
          addresses: ['4.29.163.7'],
        },
      },
      {
        name: 'edge-fw',
        cidr: '172.26.5.0/28',
        routes: [
          {
            destinationNetworkCidr: '0.0.0.0/0',
            nextHopIpAddress: '172.26.5.11',
          },
          {
            destinationNetworkCidr: '172.26.0.0/16',
            nextHopIpAddress: '172.26.5.12',
          },
        ],
        nameservers: {
          addresses: ['4.29.163.7'],
        },
      },
      {
        name: 'range-services',
        cidr: '172.26.1.0/24',
        routes: [
          {
            destinationNetworkCidr: '0.0.0.0/0',
            nextHopIpAddress: '172.26.1.254',
          },
        ],
        nameservers: {
          addresses: ['172.26.1.101'],
        },
      },
    ],
  } satisfies WorkspaceSpecInput,
}
