/**
 * The lab of `workspace.yaml`, written in TypeScript, with types and checks in the editor, and an error with field and fix if something is wrong.
 *
 *   npm ci && npx node examples/workspace.ts | kubectl apply -f -
 */
import { outside, Workspace } from '@open-terrain/constructs'
import { App, Chart, Size, Yaml } from 'cdk8s'

const app = new App()
const lab = new Workspace(new Chart(app, 'labs'), 'demo-workspace-1')

const everything = '0.0.0.0/0'
const control = lab.addNetwork('control-net', { cidr: '10.10.0.0/24' })
lab.addNetwork('capture-net', { cidr: '10.10.1.0/24' })
const inet = lab.addNetwork('bridge-inet', {
  cidr: '4.29.163.0/28',
  gateway: outside(14),
  routes: [{ to: everything, via: outside(14) }],
  nameservers: [7],
})
const edge = lab.addNetwork('bridge-edge', {
  cidr: '172.27.11.0/28',
  routes: [
    { to: everything, via: 11 },
    { to: '172.26.0.0/15', via: outside(12) },
  ],
})
const firewall = lab.addNetwork('edge-fw', {
  cidr: '172.26.5.0/28',
  routes: [
    { to: everything, via: outside(11) },
    { to: '172.26.0.0/16', via: outside(12) },
  ],
})
lab.addNetwork('range-services', {
  cidr: '172.26.1.0/24',
  routes: [{ to: everything, via: outside(254) }],
  nameservers: [outside(101)],
})

lab
  .addVm('demo-vm', {
    image: 'demo-vmdi',
    baseVm: 'ubuntu_2004_lts_en-us_x64',
    baseVmVersion: '2.1.2',
    version: '2.1.0',
    ignoreOnDeploy: true,
    cpu: '2',
    memory: Size.gibibytes(2),
    diskSize: Size.gibibytes(18),
    build: [{ role: 'specialize' }, { role: 'linuxRouter', variables: { enable_nat: true, nat_out_iface_idx: 1 } }],
    deploy: [{ role: 'runtimeChecks' }],
  })
  .connect(control, 161)
  .connect(inet, 6)
  .connect(edge, 11)

const registry = 'ghcr.io/demo/demo-containers'
lab.addVolume('monitorconfigs', { size: Size.gibibytes(1), localPath: '/config' })
const dnsConfig = lab.addVolume('dnsconfig', { size: Size.gibibytes(1), localPath: '/demo-app-config' })
const dns = lab
  .addContainers('demo-app', { ignoreOnDeploy: false })
  .connect(inet, 7)
  .add('chef', {
    image: `${registry}/demo-app:1.0.2`,
    cpu: '128m',
    memory: Size.mebibytes(256),
    capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
    mounts: [dnsConfig.at('/config', { readOnly: true })],
    ports: [{ containerPort: 53, protocol: 'udp', hostPort: 53 }],
  })
for (const network of [edge, firewall]) network.addNameserver(dns)
lab
  .addContainers('ansible', { ignoreOnDeploy: false })
  .connect(control, 141)
  .add('ansible', {
    image: `${registry}/ansible:2.5.14`,
    cpu: '384m',
    memory: '2048Mi',
    env: { DEBUG: true },
  })

console.log(Yaml.stringify(lab.toJson()))
