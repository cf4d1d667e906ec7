/**
 * A red team attacks a company from the internet, and a blue team defends it. It is the same as `red-and-blue.yaml`.
 *
 *   npm ci && npx node examples/programs/red-and-blue.ts | kubectl apply -f -
 */
import { type LabNetwork, Release, Workspace } from '@open-terrain/constructs'
import { App, Chart, Yaml } from 'cdk8s'
import { Construct } from 'constructs'

const chart = new Chart(new App(), 'labs')
const url = (name: string) => ({ url: `https://images.example.com/redblue/1.4.0/${name}.qcow2` })
const release = new Release(chart, 'images', {
  metadata: { namespace: 'vmdi-farm' },
  workspaceId: 'redblue',
  version: '1.4.0',
  sourceType: 'http',
  diskSize: '40Gi',
  images: { router: url('router'), kali: url('kali'), windows: url('windows'), siem: url('siem') },
})
const lab = new Workspace(chart, 'redblue')
const logins = lab.addSecret('logins', { generate: ['red', 'blue', { key: 'analyst', length: 20 }] })
const internet = lab.addNetwork('internet', { cidr: '198.51.100.0/24' })
const dmz = lab.addNetwork('dmz', { cidr: '10.1.0.0/24' })
const office = lab.addNetwork('office', { cidr: '10.2.0.0/24' })
const watch = lab.addNetwork('watch', { cidr: '10.3.0.0/24' })

/** Routes between a network and those behind it, whose gateway it is. */
class Router extends Construct {
  constructor(name: string, uplink: LabNetwork, host: number, inside: readonly LabNetwork[]) {
    super(lab, name)
    const build = [{ role: 'linuxRouter', variables: { enable_nat: true } }]
    const router = lab.addVm(name, { image: release.image('router'), cpu: 1, memory: '1Gi', build })
    router.connect(uplink, host)
    for (const network of inside) {
      router.connect(network, 1)
      network.setGateway(router)
      uplink.addRoute(network, router)
    }
  }
}
new Router('border', internet, 254, [dmz])
new Router('core', dmz, 254, [office, watch])

for (const [at, name] of ['kali-1', 'kali-2'].entries()) {
  const users = [{ name: 'red', password: logins.key('red'), sudo: true }]
  const kali = lab.addVm(name, { image: release.image('kali'), cpu: 4, memory: '8Gi', users })
  kali.connect(internet, 10 + at).connectToPodNetwork()
  lab.addService(name, { member: kali, ports: [22, 3389] })
}

const windows = {
  image: release.image('windows'),
  os: 'windows',
  cpu: 2,
  memory: '4Gi',
  users: [{ name: 'analyst', password: logins.key('analyst'), groups: ['administrators'] }],
} as const
const dc = lab.addVm('dc', { ...windows, memory: '8Gi' }).connect(office, 10)
office.addNameserver(dc)
for (const at of [1, 2, 3]) lab.addVm(`desk-${at}`, { ...windows, dependsOn: [dc] }).connect(office, 20 + at)

const blue = [{ name: 'blue', password: logins.key('blue'), sudo: true }]
const siem = lab.addVm('siem', { image: release.image('siem'), cpu: 4, memory: '16Gi', diskSize: '200Gi', users: blue })
siem.connect(watch, 10).connectToPodNetwork()
lab.addService('siem', { member: siem, ports: [443] })

const registry = 'registry.example.com/redblue'
const zones = lab.addVolume('zones', { size: '1Gi' })
const dns = lab.addContainers('dns').connect(internet, 53)
const mounts = [zones.at('/etc/bind', { readOnly: true })]
dns.add('bind', { image: `${registry}/bind:9.20`, memory: '128Mi', mounts })
for (const network of [internet, dmz]) network.addNameserver(dns)
const mail = lab.addVolume('mail', { size: '5Gi' })
const web = lab.addContainers('web').connect(dmz, 80)
web.add('nginx', {
  image: `${registry}/nginx:1.27`,
  memory: '128Mi',
  files: { '/usr/share/nginx/html/motd': 'welcome' },
})
web.add('app', { image: `${registry}/shop:2.0`, memory: '512Mi', env: { LOG_HOST: siem.addressOn(watch) } })
const post = lab.addContainers('mail', { dependsOn: [dc] }).connect(dmz, 25)
post.add('postfix', { image: `${registry}/postfix:3.9`, memory: '256Mi', mounts: [mail.at('/var/mail')] })

console.log(Yaml.stringify(...chart.toJson()))
