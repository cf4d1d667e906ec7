/**
 * The lab of `workspace.yaml`, written in TypeScript, with types and checks in the editor, and an error with field and fix if something is wrong.
 *
 *   npm ci && npx node examples/workspace.ts | kubectl apply -f -
 */
import { outside, Workspace } from '@open-terrain/constructs'
import { App, Chart, Yaml } from 'cdk8s'

const chart = new Chart(new App(), 'labs')
const lab = new Workspace(chart, 'demo-workspace-1')

const all = '0.0.0.0/0'
const control = lab.addNetwork('control-net', { cidr: '10.10.0.0/24' })
lab.addNetwork('capture-net', { cidr: '10.10.1.0/24' })
const inet = lab.addNetwork('bridge-inet', { cidr: '4.29.163.0/28', gateway: outside(14), nameservers: [7] })
inet.addRoute(all, outside(14))
const edge = lab.addNetwork('bridge-edge', { cidr: '172.27.11.0/28' })
edge.addRoute(all, 11)
edge.addRoute('172.26.0.0/15', outside(12))
const firewall = lab.addNetwork('edge-fw', { cidr: '172.26.5.0/28' })
firewall.addRoute(all, outside(11))
firewall.addRoute('172.26.0.0/16', outside(12))
const services = lab.addNetwork('range-services', { cidr: '172.26.1.0/24', nameservers: [outside(101)] })
services.addRoute(all, outside(254))

const vm = lab.addVm('demo-vm', {
  image: 'demo-vmdi',
  baseVm: 'ubuntu_2004_lts_en-us_x64',
  baseVmVersion: '2.1.2',
  version: '2.1.0',
  ignoreOnDeploy: true,
  cpu: 2,
  memory: '2Gi',
  diskSize: '18Gi',
  build: [{ role: 'specialize' }, { role: 'linuxRouter', variables: { enable_nat: true, nat_out_iface_idx: 1 } }],
  deploy: [{ role: 'runtimeChecks' }],
})
vm.connect(control, 161).connect(inet, 6).connect(edge, 11)

const registry = 'ghcr.io/demo/demo-containers'
lab.addVolume('monitorconfigs', { size: '1Gi', localPath: '/config' })
const config = lab.addVolume('dnsconfig', { size: '1Gi', localPath: '/demo-app-config' })
const dns = lab.addContainers('demo-app').connect(inet, 7)
dns.add('chef', {
  image: `${registry}/demo-app:1.0.2`,
  cpu: '128m',
  memory: '256Mi',
  capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
  mounts: [config.at('/config', { readOnly: true })],
  ports: [{ containerPort: 53, protocol: 'udp', hostPort: 53 }],
})
edge.addNameserver(dns)
firewall.addNameserver(dns)
const player = { image: `${registry}/ansible:2.5.14`, cpu: '384m', memory: '2048Mi', env: { DEBUG: true } }
lab.addContainers('ansible').connect(control, 141).add('ansible', player)

console.log(Yaml.stringify(...chart.toJson()))
