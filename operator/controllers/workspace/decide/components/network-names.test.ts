import { linkNames, linkNamesOfBefore } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../../kube/kube-object.ts'
import { linksIn } from '../../child-views.ts'
import { idOf, idOfObject } from '../component.ts'
import { planWorkspace } from '../plan.ts'
import { renderComponents } from '../render.ts'

const LAB = { name: 'lab', uid: 'lab-uid' }
const KIND = 'NetworkAttachmentDefinition'
const NETWORKS = DEPLOYED.networks.map(({ name }) => name)

const configOf = (object: KubeObject | undefined) =>
  (object as (KubeObject & { readonly spec: { readonly config: string } }) | undefined)?.spec.config ?? ''

/** A lab in which everything exists as an earlier version made it. */
function labOfBefore(): PlannedWorld {
  const planned = settledWorld(DEPLOYED)
  const blueprint = { workspace: LAB, spec: parsed(DEPLOYED), policy: planned.policy }
  const objects = renderComponents({ ...blueprint, networksOfBefore: new Set(NETWORKS) }).flatMap((one) => one.objects)
  const isOfNetworks = ({ kind }: KubeObject) => kind === KIND || kind === 'Deployment'
  for (const [id, one] of planned.children) if (isOfNetworks(one)) planned.children.delete(id)
  planned.take({ apply: objects.filter(isOfNetworks), remove: [], status: planned.status } as never)
  planned.spec = parsed(DEPLOYED)
  return planned
}

describe('the names of networks on nodes', () => {
  it('are those of the uid, in a new lab', () => {
    const { children } = settledWorld(DEPLOYED)
    for (const name of NETWORKS) {
      const { bridge, cni } = linkNames(LAB, name)
      expect(linksIn(configOf(children.get(idOf(KIND, name))))).toEqual([cni, bridge])
    }
  })

  it('stay in a lab of before, and a network that is added has a new one', () => {
    const planned = labOfBefore()
    expect(planWorkspace(planned.world, NOW)).toMatchObject({ apply: [], remove: [] })
    planned.spec = parsed({ ...DEPLOYED, networks: [...DEPLOYED.networks, { name: 'added', cidr: '10.77.0.0/24' }] })
    const [added] = planWorkspace(planned.world, NOW).apply.filter(({ kind }) => kind === KIND)
    expect(linksIn(configOf(added))).toEqual([linkNames(LAB, 'added').cni, linkNames(LAB, 'added').bridge])
  })

  it('stay when somebody deletes or edits a NetworkAttachmentDefinition of it', () => {
    const [name = ''] = NETWORKS
    const { cni, bridge } = linkNamesOfBefore(LAB, name)
    const deleted = labOfBefore()
    deleted.children.delete(idOf(KIND, name))
    const edited = labOfBefore()
    for (const [id, one] of edited.children)
      if (one.kind === KIND) edited.children.set(id, { ...one, spec: { config: '{"type":"mine"}' } } as KubeObject)
    for (const planned of [deleted, edited]) {
      planned.spec = parsed(DEPLOYED)
      const again = planWorkspace(planned.world, NOW).apply.find((one) => idOfObject(one) === idOf(KIND, name))
      expect(linksIn(configOf(again))).toEqual([cni, bridge])
    }
  })

  it('are not those that somebody writes into one', () => {
    const planned = settledWorld(DEPLOYED)
    const [name = ''] = NETWORKS
    const id = idOf(KIND, name)
    const existing = planned.children.get(id) as KubeObject
    const config = configOf(existing).replace(linkNames(LAB, name).bridge, 'otsomebodyelse')
    planned.children.set(id, { ...existing, spec: { config } } as KubeObject)
    planned.spec = parsed(DEPLOYED)
    const again = planWorkspace(planned.world, NOW).apply.find((one) => idOfObject(one) === id)
    expect(linksIn(configOf(again))).toEqual([linkNames(LAB, name).cni, linkNames(LAB, name).bridge])
  })
})

describe('a network whose name another one has', () => {
  const [name = ''] = NETWORKS
  const SAYS = new RegExp(`NetworkAttachmentDefinition team/theirs has the bridge or the name of network ${name}`)
  const summary = (planned: PlannedWorld) =>
    planWorkspace(planned.world, NOW).status.components?.find((one) => one.kind === 'Network' && one.name === name)

  it('is not made', () => {
    const planned = new PlannedWorld(parsed(DEPLOYED))
    planned.allImagesReady()
    planned.namesTaken.set(name, 'team/theirs')
    for (let round = 0; round < 6; round += 1) planned.take(planWorkspace(planned.world, NOW))
    expect(planned.children.has(idOf(KIND, name))).toBe(false)
    expect(summary(planned)).toMatchObject({
      phase: 'Failed',
      reason: 'NetworkNameTaken',
      message: expect.stringMatching(SAYS),
    })
  })

  it('stays where it exists, and is warned of', () => {
    const planned = settledWorld(DEPLOYED)
    planned.namesTaken.set(name, 'team/theirs')
    expect(summary(planned)).toMatchObject({
      phase: 'Ready',
      reason: 'NetworkNameTaken',
      message: expect.stringMatching(SAYS),
    })
  })
})
