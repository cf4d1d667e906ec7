import { POLICY_DEFAULTS, RenderedObject } from '@open-terrain/constructs/operator'
import { ApiObject } from 'cdk8s'
import fc from 'fast-check'
import { afterEach, expect, it, vi } from 'vitest'
import { randomWorkspace } from '../../../../test/prepared/children/random-workspaces.ts'
import { marked } from './as-wanted.ts'
import { type Blueprint, idOfObject } from './component.ts'
import { renderComponents } from './render.ts'

afterEach(() => vi.restoreAllMocks())

/** Notes what constructs render, from now on. */
function noteConstructs(): Set<string> {
  const made = new Set<string>()
  for (const type of [ApiObject, RenderedObject]) {
    const toJson = type.prototype.toJson
    vi.spyOn(type.prototype, 'toJson').mockImplementation(function (this: ApiObject) {
      const json = toJson.call(this)
      made.add(JSON.stringify(marked(json)))
      return json
    })
  }
  return made
}

it('everything that a workspace is made of comes out of a construct', () => {
  const made = noteConstructs()
  const policy = { ...POLICY_DEFAULTS, localVolumeRoot: '/srv', workspaceQuota: { pods: '9' } }
  const kinds = new Set<string>()
  fc.assert(
    fc.property(randomWorkspace, fc.constantFrom('bridge', 'ovn-layer2'), (random, networkDriver) => {
      made.clear()
      const owners = [{ kind: 'User' as const, name: 'somebody' }]
      const blueprint: Blueprint = { ...random, spec: { ...random.spec, owners }, policy: { ...policy, networkDriver } }
      const components = renderComponents(blueprint)
      const objects = components.flatMap(({ objects: now, earlier = [] }) => [
        ...now,
        ...earlier.flatMap((one) => one.objects),
      ])
      expect(objects.filter((one) => !made.has(JSON.stringify(one))).map(idOfObject)).toEqual([])
      for (const { kind } of objects) kinds.add(kind)
    }),
  )
  expect([...kinds].toSorted()).toEqual([
    ...['ConfigMap', 'Deployment', 'Namespace', 'NetworkAttachmentDefinition', 'NetworkPolicy', 'PersistentVolume'],
    ...['PersistentVolumeClaim', 'ResourceQuota', 'RoleBinding', 'Secret', 'Service', 'VirtualMachine'],
  ])
})
