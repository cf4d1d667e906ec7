import { POLICY_DEFAULTS, parseWorkspaceSpec } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { type Blueprint, idOfObject } from './decide/component.ts'
import { renderEarlier } from './decide/render.ts'
import { Renderings } from './renderings.ts'

function blueprintOf(name: string): Blueprint {
  const containers = [{ name: 'web', image: 'registry.example/web:1' }]
  const parsed = parseWorkspaceSpec({ containerClusters: [{ name: 'web', containers }] })
  if (!parsed.ok) throw new Error('the spec is not valid')
  return { workspace: { name, uid: `${name}-uid` }, spec: parsed.spec, policy: POLICY_DEFAULTS }
}

const NONE = new Map()
const LAB = blueprintOf('lab')

/** Characters of what is rendered for such a lab. */
const SIZE = JSON.stringify(new Renderings(0).componentsOf(LAB, NONE, true)).length

/** The children of a lab whose container cluster was made by the first version of the operator. */
function childrenOf(blueprint: Blueprint) {
  const cluster = new Renderings(0).componentsOf(blueprint, NONE, true).find(({ kind }) => kind === 'ContainerCluster')
  const objects = (cluster && renderEarlier(blueprint, cluster).at(-1)?.objects) ?? []
  return new Map(objects.map((one) => [idOfObject(one), one]))
}

it('renders a workspace once for each spec, and for each change of what else it is made of', () => {
  const renderings = new Renderings(10 * SIZE)
  const [first] = renderings.componentsOf(LAB, NONE, true)
  expect(renderings.componentsOf({ ...LAB }, NONE, true)[0]).toBe(first)
  expect(renderings.componentsOf({ ...LAB, spec: structuredClone(LAB.spec) }, NONE, true)[0]).not.toBe(first)
  const quota = { ...LAB, policy: { ...POLICY_DEFAULTS, workspaceQuota: { pods: '9' } } }
  expect(renderings.componentsOf(quota, NONE, true)[0]).not.toBe(first)
})

it('keeps nothing of a spec that is read again each time', () => {
  const renderings = new Renderings(10 * SIZE)
  const [first] = renderings.componentsOf(LAB, NONE, false)
  expect(renderings.componentsOf(LAB, NONE, false)[0]).not.toBe(first)
})

it('keeps what was used last, as much as there is room for', () => {
  const renderings = new Renderings(2.5 * SIZE)
  const labs = ['one', 'two', 'six'].map(blueprintOf)
  const [one, two] = labs.map((lab) => renderings.componentsOf(lab, NONE, true)[0])
  const [first, second] = labs as [Blueprint, Blueprint]
  expect(renderings.componentsOf(second, NONE, true)[0]).toBe(two)
  expect(renderings.componentsOf(first, NONE, true)[0]).not.toBe(one)
})

it('renders in earlier ways what stands in one, once, and counts it', () => {
  const renderings = new Renderings(SIZE)
  const children = childrenOf(LAB)
  expect(children.size).toBeGreaterThan(0)
  const standing = (isKept: Renderings) =>
    isKept.componentsOf(LAB, children, true).find(({ kind }) => kind === 'ContainerCluster')?.objects
  expect(standing(renderings)).toEqual([...children.values()])
  expect(standing(renderings)?.[0]).not.toBe(standing(renderings)?.[0])
  const roomy = new Renderings(20 * SIZE)
  expect(standing(roomy)?.[0]).toBe(standing(roomy)?.[0])
})
