import { POLICY_DEFAULTS, RenderedObject } from '@open-terrain/constructs/operator'
import { ApiObject } from 'cdk8s'
import fc from 'fast-check'
import { afterEach, expect, it, vi } from 'vitest'
import { randomWorkspace } from '../../../../test/prepared/children/random-workspaces.ts'
import { marked, markOf } from './as-wanted.ts'
import { type Blueprint, type Component, idOfObject } from './component.ts'
import { asItStands, renderComponents, renderEarlier } from './render.ts'

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
      const earlier = components.flatMap((one) => renderEarlier(blueprint, one))
      const objects = [...components, ...earlier].flatMap((one) => one.objects)
      expect(objects.filter((one) => !made.has(JSON.stringify(one))).map(idOfObject)).toEqual([])
      for (const { kind } of objects) kinds.add(kind)
    }),
  )
  expect([...kinds].toSorted()).toEqual([
    ...['ConfigMap', 'Deployment', 'Namespace', 'NetworkAttachmentDefinition', 'NetworkPolicy', 'PersistentVolume'],
    ...['PersistentVolumeClaim', 'ResourceQuota', 'RoleBinding', 'Secret', 'Service', 'VirtualMachine'],
  ])
})

it('whatever an earlier version made of a component is kept', () => {
  let kept = 0
  fc.assert(
    fc.property(randomWorkspace, fc.constantFrom('bridge', 'ovn-layer2'), (random, networkDriver) => {
      const blueprint: Blueprint = { ...random, policy: { ...POLICY_DEFAULTS, networkDriver } }
      const earlierOf = (component: Component) => renderEarlier(blueprint, component)
      for (const component of renderComponents(blueprint))
        for (const { objects } of earlierOf(component)) {
          const children = new Map(objects.map((one) => [idOfObject(one), one]))
          const stands = asItStands(component, children, earlierOf)
          // What has the same mark in both need not be there.
          expect(stands.objects.map(markOf)).toEqual(expect.arrayContaining(objects.map(markOf)))
          kept += stands === component ? 0 : 1
        }
    }),
  )
  expect(kept).toBeGreaterThan(100)
})
