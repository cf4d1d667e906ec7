import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { EARLIER, extractCommit, hasCommit, runIn } from './earlier-release.ts'

/** Prints Workspaces and machines of a commit: its fixtures that are accepted, those of its examples, and 300 at random. */
const SPECS = `
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { parseAllDocuments } from 'yaml'
import { randomWorkspace } from './constructs/children/random-workspaces.fixtures.ts'
import { WORKSPACE_FIXTURES } from './constructs/api/workspace.fixtures.ts'
import { NETWORK_FIXTURES } from './constructs/api/workspace-networks.fixtures.ts'
import { VIRTUAL_MACHINE_FIXTURES } from './constructs/api/virtual-machine.fixtures.ts'

const examples = readdirSync('examples').filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseAllDocuments(readFileSync('examples/' + name, 'utf8')).map((one) => one.toJS()))
const specsOf = (kind) => examples.filter((one) => one?.kind === kind).map(({ spec }) => spec)
const valid = (fixtures) => fixtures.filter((one) => one.valid).map(({ spec }) => spec)
const labs = [...valid(WORKSPACE_FIXTURES), ...valid(NETWORK_FIXTURES), ...specsOf('Workspace')]
console.log(JSON.stringify({
  workspaces: [
    ...fc.sample(randomWorkspace, { numRuns: 300, seed: Number(process.argv[1]) }),
    ...labs.map((spec, at) => ({ workspace: { name: 'lab', uid: 'uid-' + at }, spec })),
  ],
  machines: [...valid(VIRTUAL_MACHINE_FIXTURES), ...specsOf('VirtualMachine')],
}))`

/**
 * Prints a line for each object of them, in the way of that commit. Later versions render what runs since then in this way too, as long as it stays as it is:
 * they know it by its names of networks, by the default routes and the routes of its pods, and by where and with which variables these start.
 */
const LINES = `
import { existsSync, readFileSync } from 'node:fs'
import * as authoring from './constructs/index.ts'
import { renderContainerCluster } from './constructs/children/workspace-containers.ts'

// Has a room of its own since then.
const NOW = './test/prepared/children/rendered-workspace.ts'
const { renderAll } = await import(existsSync(NOW) ? NOW : './constructs/children/rendered-workspace.fixtures.ts')
// A door of its own since then.
const operator = existsSync('./constructs/operator.ts') ? await import('./constructs/operator.ts') : {}
const constructs = { ...authoring, ...operator }
const { workspaces, machines } = JSON.parse(readFileSync(process.argv[1], 'utf8'))
const print = (place, object) => console.log(place + ' ' + JSON.stringify(object))
const specOf = (parsed) => {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.spec
}

function printMachine(place, spec, name, namespace) {
  const vm = { namespace, name, uid: 'machine' }
  const { interfaces: wanted = [], resources, nodeGroup } = spec
  const interfaces = constructs.withMacAddresses(vm.uid, name, wanted)
  const users = spec.users?.map(({ passwordSecretRef, ...user }) =>
    passwordSecretRef === undefined ? user : { ...user, plain_text_passwd: 'password' })
  const hostname = spec.name ?? name
  const data = constructs.renderCloudInit({ hostname, ...(users && { users }), ...(spec.interfaces && { interfaces }) })
  const fingerprint = constructs.cloudInitFingerprint('secret', constructs.cloudInitHash(data))
  const cloudInit = { fingerprint, hasNetworkData: wanted.length > 0 }
  print(place + ' Secret', constructs.renderCloudInitSecret({ vm, data }))
  print(place + ' VirtualMachine', constructs.renderKubeVirtVirtualMachine({
    vm, hostname, firmwareUuid: 'uuid', runStrategy: 'Always', cpu: resources.cpu, memory: resources.memory, interfaces, cloudInit, version: spec, nodeGroup,
  }))
}

for (const [at, { workspace, spec: input }] of workspaces.entries()) {
  const spec = specOf(constructs.parseWorkspaceSpec(input))
  const networksOfBefore = new Set(spec.networks?.map(({ name }) => name))
  for (const driver of ['bridge', 'ovn-layer2']) {
    const place = 'workspace ' + at + ' ' + driver
    const { namespace, quota, policies, networks, volumes, ansible, machines } =
      renderAll({ workspace, spec }, driver, at % 2 === 0 ? undefined : '/srv/labs', networksOfBefore)
    for (const one of [namespace, quota, ...policies, ...networks.flat(), ...volumes, ansible, ...machines]) print(place, one)
    for (const cluster of spec.containerClusters ?? []) print(place, renderContainerCluster({
      workspace, spec, cluster, driver, quota: {}, networksOfBefore,
      defaultRoute: 'requested', ownRoutes: 'never', placement: 'free', serviceLinks: 'added',
    }))
    for (const { metadata, spec } of machines) printMachine(place, spec, metadata.name, metadata.namespace)
  }
}
for (const [at, spec] of machines.entries()) printMachine('machine ' + at, specOf(constructs.parseVirtualMachineSpec(spec)), 'vm', 'team')`

// A copy without history has nothing to compare with.
it.runIf(await hasCommit(EARLIER))(`what ${EARLIER} rendered is rendered byte by byte as it did`, async () => {
  const folder = await extractCommit(EARLIER)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const specs = join(folder, 'specs.json')
  await writeFile(specs, await runIn(folder, SPECS, '20261129'))
  const [before, now] = await Promise.all([runIn(folder, LINES, specs), runIn(undefined, LINES, specs)])
  const [wanted, lines] = [before, now].map((text) => text.split('\n')) as [string[], string[]]
  expect(wanted.length).toBeGreaterThan(5_000)
  expect(lines.length).toBe(wanted.length)
  expect(lines.filter((line, at) => line !== wanted[at]).slice(0, 3)).toEqual([])
})
