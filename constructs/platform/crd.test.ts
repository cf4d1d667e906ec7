import { describe, expect, it } from 'vitest'
import { dataSync } from '../api/data-sync.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { workspace } from '../api/workspace.ts'
import { render } from '../children/render.ts'
import { Crd, resourceSchema } from './crd.ts'

describe('Crd', () => {
  it.each([vmDiskImage, virtualMachine, dataSync, workspace])('loses nothing of the schema of $kind', (resource) => {
    const [crd] = render((chart) => new Crd(chart, 'Crd', resource))
    const openAPIV3Schema = JSON.parse(JSON.stringify(resourceSchema(resource)))
    expect(crd).toMatchObject({ spec: { versions: [{ schema: { openAPIV3Schema } }] } })
  })
})
