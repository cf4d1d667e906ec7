import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { isOnPodNetwork, staticAddresses } from '../../../constructs/api/interface-words.ts'
import { LABELS } from '../../../constructs/api/labels.ts'
import { NETWORK_DRIVERS } from '../../../constructs/api/policy.ts'
import { parseVirtualMachineSpec } from '../../../constructs/api/virtual-machine.ts'
import { vmChildNames } from '../../../constructs/children/virtual-machine-child.ts'
import type { FolderVolume } from '../../../constructs/children/workspace-files.ts'
import { ANSIBLE_VOLUME } from '../../../constructs/children/workspace-node-group.ts'
import { CANARY, type RandomWorkspace, randomWorkspace } from './random-workspaces.ts'
import { objectsOf, type RenderedWorkspace, renderAll } from './rendered-workspace.ts'
import { isLetThrough } from './workspace-policies.ts'

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
const driver = fc.constantFrom(...NETWORK_DRIVERS)
const root = fc.constantFrom(undefined, '/srv/labs')

/** @param runs number of random workspaces */
export function workspaceChildrenSuite(runs: number): void {
  const holds = (property: fc.IProperty<[RandomWorkspace, ...unknown[]]>) =>
    fc.assert(property as fc.IProperty<unknown>, { numRuns: runs })

  it('have names that fit, and never that of another child of any workspace', () => {
    holds(
      fc.property(randomWorkspace, randomWorkspace, driver, root, (one, other, drawn, folder) => {
        const all = [one, ...(one.workspace.name === other.workspace.name ? [] : [other])]
        const ids = all.flatMap((random) => {
          const rendered = renderAll(random, drawn, folder)
          for (const { metadata } of objectsOf(rendered)) {
            expect(metadata.name).toMatch(NAME)
            for (const value of Object.values(metadata.labels)) expect(value).toMatch(LABEL_VALUE)
          }
          // Names that each machine gives to its own objects in the same namespace.
          const own = rendered.machines.map(({ metadata }) => vmChildNames(metadata.name))
          return [
            ...objectsOf(rendered).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
            ...own.flatMap(({ clone, cloudInit }) => [
              `PersistentVolumeClaim ${random.workspace.name}/${clone}`,
              `Secret ${random.workspace.name}/${cloudInit}`,
            ]),
          ]
        })
        expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
      }),
    )
  })

  it('belong to their workspace', () => {
    holds(
      fc.property(randomWorkspace, driver, root, (random, drawn, folder) => {
        const { name, uid } = random.workspace
        for (const { kind, metadata } of objectsOf(renderAll(random, drawn, folder))) {
          expect(metadata.namespace).toBe(kind === 'Namespace' || kind === 'PersistentVolume' ? undefined : name)
          expect(metadata.ownerReferences).toEqual([
            {
              apiVersion: 'pelotech.ot/v1alpha1',
              kind: 'Workspace',
              name,
              uid,
              controller: true,
              blockOwnerDeletion: true,
            },
          ])
          expect(metadata.labels).toMatchObject({ [LABELS.workspace]: name, [LABELS.workspaceUid]: uid })
        }
      }),
    )
  })

  it('mount what there is, and are on one node where they have to be', () => {
    holds(
      fc.property(randomWorkspace, driver, (random, drawn) => {
        const rendered = renderAll(random, drawn)
        checkVolumes(rendered)
        checkNodeGroups(rendered, drawn === 'bridge' ? random.workspace.name : undefined)
      }),
    )
  })

  it('are machines that the API takes', () => {
    holds(
      fc.property(randomWorkspace, driver, (random, drawn) => {
        for (const { spec } of renderAll(random, drawn).machines)
          expect(parseVirtualMachineSpec(spec)).toMatchObject({ ok: true, spec })
      }),
    )
  })

  it('show a password on machines alone', () => {
    holds(
      fc.property(randomWorkspace, driver, root, (random, drawn, folder) => {
        const { machines, ...others } = renderAll(random, drawn, folder)
        expect(JSON.stringify(others)).not.toContain(CANARY)
        const asked = (random.spec.vms ?? []).some(
          ({ users, userData }) => users !== undefined || userData !== undefined,
        )
        expect(JSON.stringify(machines).includes(CANARY)).toBe(asked)
      }),
    )
  })

  it('say to Ansible what the workspace says', () => {
    holds(
      fc.property(randomWorkspace, (random) => {
        const { data } = renderAll(random, 'bridge').ansible
        const { vms = [], containerClusters = [] } = random.spec
        const { all } = yaml(data['inventory.yaml']) as {
          all: { children: Record<string, { hosts: Record<string, { ansible_host?: string }> }> }
        }
        const hosts = { ...all.children['ot_machines']?.hosts, ...all.children['ot_containers']?.hosts }
        expect(Object.keys(hosts).toSorted()).toEqual([...vms, ...containerClusters].map(({ name }) => name).toSorted())
        for (const { name, interfaces = [] } of [...vms, ...containerClusters])
          expect(hosts[name]?.ansible_host).toBe(interfaces.flatMap(staticAddresses)[0]?.split('/')[0])
        for (const when of ['build', 'deploy'] as const) {
          const plays = yaml(data[`${when}.yaml`]) as { hosts: string; roles?: { role: string; vars?: unknown }[] }[]
          const wanted = vms.flatMap(({ name, ansible }) =>
            (ansible?.roles?.[when] ?? []).map(({ role, variables }) => [name, role, variables]),
          )
          const played = plays.flatMap((play) => (play.roles ?? []).map(({ role, vars }) => [play.hosts, role, vars]))
          expect(JSON.stringify(played)).toBe(JSON.stringify(wanted))
          expect(plays.length).toBeGreaterThan(0)
        }
      }),
    )
  })

  it('let no pod reach one of another workspace', () => {
    holds(
      fc.property(randomWorkspace, randomWorkspace, fc.integer({ min: 1, max: 65535 }), (one, other, anyPort) => {
        fc.pre(one.workspace.name !== other.workspace.name)
        const [from, to] = [renderAll(one, 'bridge'), renderAll(other, 'bridge')]
        const ports = [anyPort, 8443, 53, ...declaredPorts(to)]
        const policies = [...from.policies, ...to.policies]
        for (const source of podsOf(from, one))
          for (const target of podsOf(to, other))
            for (const port of ports) {
              expect(isLetThrough(policies, source, target, { protocol: 'TCP', port })).toBe(false)
              expect(isLetThrough(policies, source, target, { protocol: 'UDP', port })).toBe(false)
            }
      }),
    )
  })
}

function checkVolumes({ volumes, clusters, ansible, files }: RenderedWorkspace): void {
  const claims = new Set(volumes.map(({ metadata }) => metadata.name))
  const contents = new Map(files.map(({ metadata, data }) => [metadata.name, data]))
  // An emptyDir is of an override, and names nothing. A folder has all keys of an object that the lab does not make.
  const named = clusters
    .flatMap(({ spec }) => spec.template.spec.volumes ?? [])
    .flatMap((one) => ('emptyDir' in one || isFolder(one) ? [] : [one]))
  for (const volume of named) {
    if ('projected' in volume)
      for (const source of volume.projected.sources) {
        if ('secret' in source) continue
        const keys = source.configMap.items.map(({ key }) => key)
        expect(Object.keys(contents.get(source.configMap.name) ?? {})).toEqual(keys)
      }
    else if (volume.persistentVolumeClaim !== undefined)
      expect(claims).toContain(volume.persistentVolumeClaim.claimName)
    else expect(volume.configMap?.name).toBe(ansible.metadata.name)
  }
}

function isFolder(volume: object): volume is FolderVolume {
  const { secret, configMap } = volume as { readonly secret?: object; readonly configMap?: object }
  return secret !== undefined || (configMap !== undefined && 'defaultMode' in configMap)
}

function checkNodeGroups({ machines, clusters }: RenderedWorkspace, group: string | undefined): void {
  for (const { spec } of machines) {
    const isOnBridge = spec.interfaces?.some((nic) => !isOnPodNetwork(nic)) === true
    expect(spec.nodeGroup).toBe(isOnBridge ? group : undefined)
  }
  const groups = clusters.map(({ spec: { template } }) => {
    const own = template.metadata.labels[LABELS.nodeGroup]
    const terms = template.spec.affinity?.podAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? []
    expect(terms.map(({ labelSelector }) => labelSelector.matchLabels[LABELS.nodeGroup])).toEqual(
      own === undefined ? [] : [own],
    )
    if (group !== undefined) expect(own).toBe(group)
    const mounted = (template.spec.volumes ?? []).flatMap((one) =>
      'projected' in one || 'emptyDir' in one || isFolder(one) ? [] : one.name,
    )
    return { own, volumes: mounted.filter((name) => name !== ANSIBLE_VOLUME) }
  })
  for (const one of groups)
    for (const other of groups)
      if (one !== other && one.volumes.some((name) => other.volumes.includes(name))) {
        expect(one.own).toBeDefined()
        expect(one.own).toBe(other.own)
      }
}

/** Reads the text as PyYAML does, which supports YAML 1.1. */
function yaml(text: string): unknown {
  return parse(text, { version: '1.1' })
}

function declaredPorts({ clusters }: RenderedWorkspace): number[] {
  return clusters.flatMap(({ spec }) =>
    spec.template.spec.containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)),
  )
}

/** Returns one pod of each kind: of containers, of a machine, and of CDI. */
function podsOf({ clusters }: RenderedWorkspace, { workspace: { name } }: RandomWorkspace) {
  return [
    ...clusters.map(({ spec }) => ({ namespace: name, labels: spec.template.metadata.labels })),
    { namespace: name, labels: { 'kubevirt.io': 'virt-launcher' } },
    { namespace: name, labels: { app: 'containerized-data-importer', 'cdi.kubevirt.io': 'cdi-upload-server' } },
  ]
}
