import { expect, it } from 'vitest'
import { render } from '../children/render.ts'
import { BRIDGE_PREFIX, linkNames, linkNamesOfBefore } from '../children/workspace-names.ts'
import { LabIsolation } from './lab-isolation.ts'
import { labIsolationRules } from './lab-isolation-rules.ts'

const objects = (image: string) =>
  render((chart) => {
    new LabIsolation(chart, 'Isolation', { image, nodeSelector: { labs: 'yes' } })
  })

it('LabIsolation renders these objects, in full', () => {
  expect(objects('registry.example/nft:1')).toMatchSnapshot()
})

it('LabIsolation needs an image', () => {
  expect(() => objects(' ')).toThrow(/image is empty/)
})

it('its rules are about all bridges of workspaces, and about nothing else', () => {
  const named = [...labIsolationRules().matchAll(/if?name (?:!= )?"([^"]+)"/g)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set([`${BRIDGE_PREFIX}*`]))
  for (const namesOf of [linkNames, linkNamesOfBefore])
    expect(namesOf({ name: 'lab', uid: 'uid' }, 'net').bridge.startsWith(BRIDGE_PREFIX)).toBe(true)
})
