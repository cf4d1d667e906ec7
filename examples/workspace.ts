/**
 * The lab of `workspace.yaml`, written in TypeScript, with types and checks in the editor, and an error with field and fix if something is wrong.
 *
 *   npm ci && npx node examples/workspace.ts | kubectl apply -f -
 */
import { Workspace, type WorkspaceNetwork } from '@open-terrain/constructs'
import { App, Chart, Yaml } from 'cdk8s'

/** Returns a network whose default route and further routes have these addresses of its machines as next hops. */
function routed(name: string, cidr: string, byDefault: string, further: Readonly<Record<string, string>> = {}) {
  const routes = Object.entries({ '0.0.0.0/0': byDefault, ...further })
  return {
    name,
    cidr,
    routes: routes.map(([destinationNetworkCidr, nextHopIpAddress]) => ({ destinationNetworkCidr, nextHopIpAddress })),
  } satisfies WorkspaceNetwork
}

const demo = 'ghcr.io/demo/demo-containers'
const dns = { addresses: ['4.29.163.7'] }

const app = new App()
const chart = new Chart(app, 'labs')
new Workspace(chart, 'demo', {
  metadata: { name: 'demo-workspace-1' },
  vms: [
    {
      baseVm: 'ubuntu_2004_lts_en-us_x64',
      baseVmVersion: '2.1.2',
      ignoreOnDeploy: true,
      name: 'demo-vm',
      version: '2.1.0',
      backingVMDiskImage: 'demo-vmdi',
      resources: { cpu: '2', memory: '2Gi' },
      diskSize: '18Gi',
      interfaces: [
        { network: 'control-net', ipAddress: '10.10.0.161/24' },
        { network: 'bridge-inet', ipAddress: '4.29.163.6/28' },
        { network: 'bridge-edge', ipAddress: '172.27.11.11/28' },
      ],
      ansible: {
        roles: {
          build: [
            { role: 'specialize' },
            { role: 'linuxRouter', variables: { enable_nat: true, nat_out_iface_idx: 1 } },
          ],
          deploy: [{ role: 'runtimeChecks' }],
        },
      },
    },
  ],
  containerClusters: [
    {
      ignoreOnDeploy: false,
      name: 'demo-app',
      interfaces: [{ network: 'bridge-inet', ipAddress: '4.29.163.7/28' }],
      containers: [
        {
          name: 'chef',
          image: `${demo}/demo-app:1.0.2`,
          resources: { cpu: '128m', memory: '256Mi' },
          capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
          volumeMounts: [{ name: 'dnsconfig', containerPath: '/config', readOnly: true }],
          portMappings: [{ containerPort: 53, protocol: 'udp', hostPort: 53 }],
        },
      ],
    },
    {
      ignoreOnDeploy: false,
      name: 'ansible',
      interfaces: [{ network: 'control-net', ipAddress: '10.10.0.141/24' }],
      containers: [
        {
          name: 'ansible',
          image: `${demo}/ansible:2.5.14`,
          resources: { cpu: '384m', memory: '2048Mi' },
          env: [{ name: 'DEBUG', value: 'true' }],
        },
      ],
    },
  ],
  volumes: [
    { name: 'monitorconfigs', size: '1Gi', localPath: '/config' },
    { name: 'dnsconfig', size: '1Gi', localPath: '/demo-app-config' },
  ],
  networks: [
    { name: 'control-net', cidr: '10.10.0.0/24' },
    { name: 'capture-net', cidr: '10.10.1.0/24' },
    {
      ...routed('bridge-inet', '4.29.163.0/28', '4.29.163.14'),
      nameservers: dns,
      rangeGateway: '4.29.163.14',
    },
    {
      ...routed('bridge-edge', '172.27.11.0/28', '172.27.11.11', { '172.26.0.0/15': '172.27.11.12' }),
      nameservers: dns,
    },
    { ...routed('edge-fw', '172.26.5.0/28', '172.26.5.11', { '172.26.0.0/16': '172.26.5.12' }), nameservers: dns },
    {
      ...routed('range-services', '172.26.1.0/24', '172.26.1.254'),
      nameservers: { addresses: ['172.26.1.101'] },
    },
  ],
})
console.log(Yaml.stringify(...chart.toJson()))
