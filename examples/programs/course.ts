/**
 * A course: a lab for each of 12 students, with a machine to attack from, a router, a machine and a web shop to attack. It is the lab of
 * `course-student.yaml` twelve times, and the images of it.
 *
 *   npm ci && npx node examples/programs/course.ts | kubectl apply -f -
 */
import { Release, Workspace } from '@open-terrain/constructs'
import { App, Chart, Yaml } from 'cdk8s'

const chart = new Chart(new App(), 'course')
const url = (name: string) => ({ url: `https://images.example.com/course/1.2.0/${name}.qcow2` })
const release = new Release(chart, 'images', {
  metadata: { namespace: 'vmdi-farm' },
  workspaceId: 'course',
  version: '1.2.0',
  sourceType: 'http',
  diskSize: '20Gi',
  images: { kali: url('kali'), router: url('router'), target: url('target') },
})

for (let student = 1; student <= 12; student += 1) {
  const lab = new Workspace(chart, `course-student-${student}`, { names: 'hosts' })
  const logins = lab.addSecret('logins', { generate: ['student', 'flag'] })
  const users = [{ name: 'student', password: logins.key('student'), sudo: true }]
  const attack = lab.addNetwork('attack', { cidr: '10.20.0.0/24' })
  const inside = lab.addNetwork('inside', { cidr: '10.20.1.0/24' })

  const build = [{ role: 'linuxRouter', variables: { enable_nat: true } }]
  const router = lab.addVm('router', { image: release.image('router'), cpu: 1, memory: '1Gi', build })
  for (const network of [attack, inside]) {
    router.connect(network, 1)
    network.setGateway(router)
  }
  const kali = lab.addVm('kali', { image: release.image('kali'), cpu: 4, memory: '8Gi', diskSize: '40Gi', users })
  kali.connect(attack, 10).connectToPodNetwork()
  lab.addService('desktop', { member: kali, ports: [22, 3389] })
  lab
    .addVm('target', { image: release.image('target'), cpu: 2, memory: '4Gi', dependsOn: [router] })
    .connect(inside, 20)

  const data = lab.addVolume('shop-data', { size: '5Gi' })
  const shop = lab.addContainers('shop', { dependsOn: [router] }).connect(inside, 30)
  shop.add('web', {
    image: 'registry.example.com/course/shop:3.1',
    memory: '256Mi',
    env: { DB_HOST: '127.0.0.1', FLAG: logins.key('flag') },
  })
  shop.add('db', {
    image: 'registry.example.com/course/postgres:16',
    memory: '512Mi',
    mounts: [data.at('/var/lib/postgresql', { subPath: 'db' })],
  })
}

console.log(Yaml.stringify(...chart.toJson()))
